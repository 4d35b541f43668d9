(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(property_declaration name: (_) @name) @property
(delegate_declaration name: (_) @name) @type
(using_directive) @import
