"""The command `celador`, as the script of this name and as `python -m celador`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Runs the command with the arguments of the process, and ends with its exit code."""
    from celador import _celador

    # the command is not Python: an interrupt ends it at once, unless it takes the signal itself, as `celador serve` does
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_celador.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
