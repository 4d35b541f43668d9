"""Git, asked through one hardened door."""
