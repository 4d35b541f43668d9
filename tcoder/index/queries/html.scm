(element (start_tag (attribute (attribute_name) @_id (quoted_attribute_value (attribute_value) @name)) (#eq? @_id "id"))) @element
