import sys

from timesheet.cli import main

sys.exit(main(sys.argv[1:]))
