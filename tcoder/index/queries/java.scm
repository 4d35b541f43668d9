(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @interface
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(import_declaration) @import
