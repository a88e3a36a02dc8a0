"""Figures of the gallery: the drawings of a notebook, as pictures of its page."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write each figure that a block of a notebook drew, and return the text that shows them.

    `masquerade.plots` draws figures of its own, which pyplot does not know of: they are found by
    the names that the notebook gave them or their axes.
    """
    paths = []
    for value in list(block_vars["example_globals"].values()):
        figure = value.figure if isinstance(value, Axes) else value
        if isinstance(figure, Figure) and figure.get_gid() is None:
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=110, facecolor=figure.get_facecolor())
            figure.set_gid("shown")
            paths.append(path)
    return str(figure_rst(paths, gallery_conf["src_dir"])) if paths else ""
