// A client on the TypeScript SDK: does what it reads, and prints what it gets.
//
// `client.mjs MAJOR CASES COMMAND…` starts the server; the SDK is found from SDKS. In
// place of a command, `http URL` and `sse URL` say where one runs.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [major, file, command, ...args] = process.argv.slice(2)
const load = createRequire(`${process.env.SDKS}/`)
const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} }
const who = { name: 'table', version: '1' }

function connect () {
  if (major === '1') {
    const { Client } = load('@modelcontextprotocol/sdk/client/index.js')
    const ways = ['stdio', 'sse', 'streamableHttp'].map((name) => (
      load(`@modelcontextprotocol/sdk/client/${name}.js`)))
    const types = load('@modelcontextprotocol/sdk/types.js')
    const client = new Client(who, { capabilities })
    client.setRequestHandler(types.CreateMessageRequestSchema, sample)
    client.setRequestHandler(types.ElicitRequestSchema, elicit)
    client.setRequestHandler(types.ListRootsRequestSchema, roots)
    return [client, Object.assign({}, ...ways)]
  }
  const sdk = load('@modelcontextprotocol/client')
  const { Client } = sdk
  const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio')
  const client = new Client(who, { capabilities, versionNegotiation: { mode: 'auto' } })
  client.setRequestHandler('sampling/createMessage', sample)
  client.setRequestHandler('elicitation/create', elicit)
  client.setRequestHandler('roots/list', roots)
  return [client, { ...sdk, StdioClientTransport }]
}

function sample (request) {
  const text = `sampled: ${JSON.stringify(request.params.messages)}`
  return { role: 'assistant', content: { type: 'text', text }, model: 'none' }
}

function elicit (request) {
  if (!request.params.message) throw new Error('nothing is asked')
  return { action: 'accept', content: { name: 'Ann', check: true, integer: 7 } }
}

function roots () {
  return { roots: [{ uri: 'file:///nowhere', name: 'root' }] }
}

async function ask (client, each) {
  if (each.do === 'together') {
    return await Promise.all(each.cases.map((one) => ask(client, one)))
  }
  if (each.do !== 'callTool') return await client[each.do](each.with)
  const progress = []
  const options = each.progress ? { onprogress: (heard) => progress.push(heard) } : {}
  const result = major === '1'
    ? await client.callTool(each.with, undefined, options)
    : await client.callTool(each.with, options)
  // What comes with the result, not every SDK tells in time.
  return [result, progress.slice(0, each.progress ?? 0)]
}

function transport (ways) {
  if (command === 'http') return new ways.StreamableHTTPClientTransport(new URL(args[0]))
  if (command === 'sse') return new ways.SSEClientTransport(new URL(args[0]))
  return new ways.StdioClientTransport({ command, args, env: process.env })
}

const [client, ways] = connect()
await client.connect(transport(ways))
const version = client.getNegotiatedProtocolVersion?.() ?? null
console.log(JSON.stringify([version, client.getServerVersion(), client.getServerCapabilities()]))
for (const each of JSON.parse(readFileSync(file, 'utf8'))) {
  try {
    console.log(JSON.stringify({ result: await ask(client, each) }))
  } catch (error) {
    console.log(JSON.stringify({ error: [error.code, error.message, error.data] }))
  }
}
await client.close()
