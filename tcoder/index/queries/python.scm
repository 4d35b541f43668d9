(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (assignment left: (identifier) @name) @variable)
(import_statement) @import
(import_from_statement) @import
