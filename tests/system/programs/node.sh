# needs: node
node -e '
const fs = require("fs"), { Worker } = require("worker_threads");
fs.mkdirSync("a/b/c", { recursive: true });
for (let i = 0; i < 50; i++) fs.writeFileSync(`a/b/f${i}`, "x".repeat(i));
Promise.all([...Array(50).keys()].map(i => fs.promises.readFile(`a/b/f${i}`)))
  .then(all => { console.log(all.map(x => x.length).join());
    fs.renameSync("a/b", "a/d"); fs.rmSync("a/d/c", { recursive: true }); });
'
