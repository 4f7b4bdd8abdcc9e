"""Lets ``python -m dispatch`` be the command."""

from dispatch.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
