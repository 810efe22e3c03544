"""``python -m infopursuit`` is the same as the command ``infopursuit``."""

import sys

from infopursuit.cli import main

if __name__ == "__main__":
    sys.exit(main())
