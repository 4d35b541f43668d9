"""What may run without asking."""
