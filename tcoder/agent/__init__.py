"""What happens in a turn: session, strategies, context, budgets, attempts, journal."""
