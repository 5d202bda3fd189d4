require("fs").appendFileSync("word.js", '"A";\n');
