"""Which attributes of a DOT file are columns of a DAG: all that Graphviz itself gives no meaning to."""

from __future__ import annotations

COLUMN_MARK = "column:"  # opens the name of a column that Graphviz would take for an attribute of its own
PROPERTY_MARK = "property:"  # opens the name of every property, among the attributes of the graph

_DRAWING = frozenset(
    (  # noqa: SIM905 - a list of names, one a line, would be longer than the module
        "area arrowhead arrowsize arrowtail class color colorscheme comment constraint decorate dir distortion "
        "edgehref edgetarget edgetooltip edgeurl fillcolor fixedsize fontcolor fontname fontsize gradientangle "
        "group head_lp headclip headhref headlabel headport headtarget headtooltip headurl height href id image "
        "imagepos imagescale label labelangle labeldistance labelfloat labelfontcolor labelfontname labelfontsize "
        "labelhref labelloc labeltarget labeltooltip labelurl layer len lhead lp ltail margin minlen nojustify "
        "ordering orientation penwidth peripheries pin pos rects regular root samehead sametail samplepoints shape "
        "shapefile showboxes sides skew sortv style tail_lp tailclip tailhref taillabel tailport tailtarget "
        "tailtooltip tailurl target tooltip type url vertices weight width xlabel xlp z "
    ).split()
)


def attribute_of(column: str) -> str:
    """The name that a column has as an attribute."""
    clashes = column.lower() in _DRAWING or column.startswith(COLUMN_MARK)
    return COLUMN_MARK + column if clashes else column


def column_of(attribute: str) -> str | None:
    """The column that an attribute is, if it is one."""
    if attribute.startswith(COLUMN_MARK):
        return attribute.removeprefix(COLUMN_MARK)
    return None if attribute.lower() in _DRAWING else attribute
