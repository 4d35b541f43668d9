(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @function
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(namespace_definition name: (_) @name) @namespace
(type_definition declarator: (type_identifier) @name) @type
(alias_declaration name: (_) @name) @type
(preproc_function_def name: (identifier) @name) @macro
(field_declaration declarator: (function_declarator declarator: (_) @name)) @function
(preproc_include) @import
