"""Somebody who types `redlane hub` in this process, in a tenth of the time."""

import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest.mock import patch

from hub_people import Person

from redlane.cli.main import main

__all__ = ["Near"]


class Near(Person):
    """A person; what differs in a process of one's own is not seen."""

    def run(self, *words: str) -> tuple[int, str, str]:
        out, error = StringIO(), StringIO()
        with (
            patch.dict(os.environ, self.environment, clear=True),
            patch("sys.stdin", StringIO()),
            redirect_stdout(out),
            redirect_stderr(error),
        ):
            code = main(words)
        return code, out.getvalue(), error.getvalue()
