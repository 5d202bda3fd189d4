"""An MCP server for tests, without an SDK: what it is called by says what it does.

`echo` answers with its arguments, as text and structured; `say` writes the lines that
it is given, raw; `wait` answers nothing; `end` exits with a status; `heard` answers
with every line that has come, in hex so that no policy knows it again. Whatever else
comes is answered with {}.
"""

import json
import os
import sys
from typing import Any


def main() -> None:
    """Serve standard input."""
    heard: list[str] = []
    for line in sys.stdin.buffer:
        heard.append(line.decode("utf-8", "surrogateescape"))
        message = json.loads(line)
        for each in message if isinstance(message, list) else [message]:
            _serve(each, heard)


def _serve(message: dict[str, Any], heard: list[str]) -> None:
    if "id" not in message or "method" not in message:
        return
    params = message.get("params", {})
    arguments = params.get("arguments", {})
    match params.get("name"):
        case "echo":
            text = json.dumps(arguments, ensure_ascii=False)
            _answer(message, _result(text, arguments))
        case "say":
            step = -1 if arguments.get("backwards") else 1
            for each in arguments["lines"]:
                os.write(1, each[::step].encode("utf-8", "surrogateescape"))
        case "heard":
            _answer(message, _result(json.dumps(heard).encode().hex(), {}))
        case "wait":
            return
        case "end":
            sys.exit(arguments["status"])
        case "parent":
            _answer(message, _result(str(os.getpid()), {}))
        case _:
            _answer(message, {})


def _result(text: str, structured: object) -> dict[str, object]:
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
    }


def _answer(message: dict[str, Any], result: object) -> None:
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    data = json.dumps(answer, ensure_ascii=False).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
