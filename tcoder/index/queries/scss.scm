(rule_set (selectors) @name) @rule
(keyframes_statement (keyframes_name) @name) @rule
(import_statement) @import
(mixin_statement name: (_) @name) @mixin
(function_statement name: (_) @name) @function
(use_statement) @import
