"""`python -m recombine` is `recombine`."""

import sys

from recombine.cli import main

if __name__ == "__main__":
    sys.exit(main())
