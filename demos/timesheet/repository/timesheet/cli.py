"""`python -m timesheet FILE --rate project=80 --step 15`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from timesheet.entries import read_entries
from timesheet.rates import parse_rate
from timesheet.report import invoice, render


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="timesheet")
    parser.add_argument("file", type=Path)
    parser.add_argument("--rate", action="append", default=[], type=parse_rate)
    parser.add_argument("--step", type=int, default=0)
    options = parser.parse_args(argv)
    entries = list(read_entries(options.file.read_text().splitlines()))
    print(render(invoice(entries, dict(options.rate), options.step)))
    return 0
