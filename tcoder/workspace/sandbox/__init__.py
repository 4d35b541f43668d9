"""Walls around what runs: namespaces, seccomp, protected paths."""
