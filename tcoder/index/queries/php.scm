(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(method_declaration name: (_) @name) @function
(function_definition name: (_) @name) @function
(namespace_use_declaration) @import
