"""Configuration of the documentation."""

from masquerade import __version__

project = "Masquerade"
author = "Masquerade contributors"
copyright = "Masquerade contributors"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.doctest"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Masquerade"
exclude_patterns = ["_build"]
napoleon_custom_sections = ["Privacy"]
napoleon_use_ivar = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
nitpicky = False
suppress_warnings = ["ref.python"]
