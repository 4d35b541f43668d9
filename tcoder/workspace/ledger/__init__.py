"""Every change as a named patch that can be undone."""
