"""The one way out of the sandbox: a proxy with an allow-list."""
