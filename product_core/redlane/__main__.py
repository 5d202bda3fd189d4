"""`python -m redlane` is the command `redlane`."""

import sys

from redlane.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
