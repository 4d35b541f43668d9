"""Hunks that a person accepts, rejects, edits or splits, and the commit of what was accepted."""
