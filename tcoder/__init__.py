"""tcoder: a terminal-first coding agent."""

__version__ = "0.1.0"
