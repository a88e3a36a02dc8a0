"""Configuration of the documentation."""

import sys
from pathlib import Path

from masquerade import __version__

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from docs_reference import bases, comment, sections

project = "Masquerade"
author = "Masquerade contributors"
copyright = "Masquerade contributors"
release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "docs_commands",
    "docs_reference",
    "docs_site",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Masquerade"
html_static_path = ["_static"]
html_css_files = ["masquerade.css"]
html_js_files = ["local-search.js"]
html_math_renderer = "mathml"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "_static", "notebooks"]
napoleon_custom_sections = ["Privacy", "Cost", ("Attributes", "params_style")]
autodoc_member_order = "bysource"
add_module_names = False
default_role = "code"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autosummary_context = {"sections": sections, "comment": comment, "bases": ", ".join(bases())}
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
nitpicky = False
suppress_warnings = ["ref.python", "config.cache"]
sphinx_gallery_conf = {
    "examples_dirs": "notebooks",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("docs_gallery.figures",),
    "reset_modules": (),
    "ignore_repr_types": r"matplotlib\.",
    "first_notebook_cell": "%matplotlib inline",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 60,
    "write_computation_times": False,
}
