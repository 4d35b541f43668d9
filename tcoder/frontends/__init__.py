"""How it looks: Textual, line mode, headless. Lives on ops and events alone."""
