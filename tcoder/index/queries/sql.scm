(create_table (object_reference) @name) @table
(create_view (object_reference) @name) @view
(create_function (object_reference) @name) @function
(create_index (identifier) @name) @index
(create_type (object_reference) @name) @type
