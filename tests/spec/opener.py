"""Opens a session over the control API and stays, as its first process.

Usage: opener.py SOCKET ROLE, where ROLE is a JSON string or null. Prints
[status, body] as one line of JSON.
"""

import json
import sys
from pathlib import Path

from control_client import Control  # type: ignore[import-not-found]  # beside this file

if __name__ == "__main__":
    role = json.loads(sys.argv[2])
    body = {} if role is None else {"role": role}
    answer = Control(Path(sys.argv[1])).post("/api/sessions", body)
    sys.stdout.write(json.dumps([answer.status, answer.json]) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
