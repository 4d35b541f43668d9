"""Builds the concrete things and joins them; the only place that imports late, each time to start fast."""
