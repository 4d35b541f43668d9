(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(program (assignment left: (constant) @name) @constant)
(call method: (identifier) @_method (#any-of? @_method "require" "require_relative")) @import
