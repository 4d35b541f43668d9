"""The smaller commands, one file each: `async run(options) -> int`, the exit code."""
