"""``python -m infopursuit`` is the same as the command ``infopursuit``."""

import sys

from infopursuit.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
