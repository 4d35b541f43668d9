(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @protocol
(function_declaration name: (simple_identifier) @name) @function
(init_declaration "init" @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @function
(typealias_declaration name: (_) @name) @type
(import_declaration) @import
