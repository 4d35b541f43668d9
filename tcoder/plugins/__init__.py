"""How tcoder is extended: the API that plugin authors import, the loader, trust."""
