(document (object (pair key: (_) @name) @key))
