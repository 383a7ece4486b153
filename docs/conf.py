"""Settings of the documentation site; `make docs` builds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from tabia import __version__

project = "Tabia"
author = "The Tabia authors"
project_copyright = "The Tabia authors; Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "generated", "mathml", "repository_links"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "html_image"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"Tabia {__version__}"
html_static_path = ["_static"]
html_css_files = ["tabia.css"]
html_copy_source = False
html_show_sourcelink = False

default_role = "code"  # docstrings write code in single backticks, as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": False}
python_use_unqualified_type_names = True

# Examples with a file name after the language, and console sessions with prompts, are shown as they are.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]
# Types of other libraries and private or re-exported names in signatures have no page here.
nitpick_ignore_regex = [("py:.*", ".*")]
