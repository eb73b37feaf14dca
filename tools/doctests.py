"""Show the examples of docstrings as code: mkdocstrings takes them for text unless a section says otherwise."""

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Put a fence around every run of lines that begins with `>>>`."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring in which examples are fenced; an example ends with an empty line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.strip("\r") if not inside else line)
    return "\n".join([*lines, "```"] if inside else lines)
