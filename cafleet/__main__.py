"""``python -m cafleet``: how the program starts its own courier."""

from __future__ import annotations

import sys

from cafleet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
