(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(internal_module name: (_) @name) @namespace
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @function
(function_signature name: (_) @name) @function
(abstract_method_signature name: (_) @name) @function
(method_signature name: (_) @name) @function
