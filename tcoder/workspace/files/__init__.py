"""Reading and writing files below the workspace."""
