"""Hours worked, as text and as money."""
