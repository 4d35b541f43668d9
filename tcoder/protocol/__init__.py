"""Every value that crosses a package boundary. No I/O, no async; imports nothing of tcoder."""
