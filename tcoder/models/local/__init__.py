"""The embedded engine and its weights."""
