"""An edit and a text make a new text: formats, matching, application."""
