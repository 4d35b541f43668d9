"""What the model can do: one file per tool, the registry, the permission policy."""
