"""How tcoder talks to a model: dialects over HTTP, the catalogue, routing, the embedded local engine."""
