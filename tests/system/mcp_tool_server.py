"""An MCP server for tests whose tools are what a file says when it is asked for them.

The file holds an array of tools, or of pages, which are arrays of tools; or an object,
which is the result as it is. Calls are answered with the name of the tool.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Serve standard input."""
    file = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        answers = [
            {"jsonrpc": "2.0", "id": each["id"], "result": _result(each, file)}
            for each in (asked if isinstance(asked, list) else [asked])
            if "id" in each
        ]
        if answers:
            made = answers if isinstance(asked, list) else answers[0]
            os.write(1, json.dumps(made, ensure_ascii=False).encode() + b"\n")


def _result(asked: dict[str, Any], file: Path) -> object:
    params = asked.get("params", {})
    if asked["method"] == "tools/call":
        return {"content": [{"type": "text", "text": f"ran {params['name']}"}]}
    if asked["method"] != "tools/list":
        return {}
    tools = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(tools, dict):
        return tools
    if not tools or not isinstance(tools[0], list):
        return {"tools": tools}
    page = int(params.get("cursor", "0"))
    more = {"nextCursor": str(page + 1)} if page + 1 < len(tools) else {}
    return {"tools": tools[page], **more}


if __name__ == "__main__":
    main()
