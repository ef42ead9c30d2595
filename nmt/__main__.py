"""`python -m nmt`: the same as the command `nmt`."""

import sys

from nmt.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
