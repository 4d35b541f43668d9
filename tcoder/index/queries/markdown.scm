(section (atx_heading heading_content: (_) @name)) @heading
(section (setext_heading heading_content: (_) @name)) @heading
