(table (_) @name) @key
(table_array_element (_) @name) @key
(document (pair (_) @name) @key)
