"""`python -m tcoder`."""

from tcoder.cli import run

if __name__ == "__main__":
    run()
