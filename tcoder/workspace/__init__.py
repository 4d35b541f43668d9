"""What touches the user's disk, git and shell."""
