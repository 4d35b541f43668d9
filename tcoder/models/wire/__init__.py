"""One HTTP client: connections, time limits, retries, faults."""
