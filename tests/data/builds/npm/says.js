console.log("says", require("word"));
