(class_declaration (type_identifier) @name) @class
(object_declaration (type_identifier) @name) @object
(function_declaration (simple_identifier) @name) @function
(source_file (property_declaration (variable_declaration (simple_identifier) @name)) @variable)
(import_header) @import
