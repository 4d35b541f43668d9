"""Scripts that run in a project's own interpreter, beside its tests. They are shipped as text and import nothing of
tcoder; tcoder never imports them."""
