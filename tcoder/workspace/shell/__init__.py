"""A shell that cannot hang, its jobs and its output."""
