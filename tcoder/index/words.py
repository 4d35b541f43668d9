"""Words of code and prose: identifiers split at camel and snake borders, the meaningless ones left out."""

import re

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*|\d{3,}")
_BORDER = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
COMMON = frozenset(
    "the a an and or not is are was be to of in on for with as at by it its this that from if else when then than but can"
    " could should would will has have had do does did no so we you they he she i my our your their there here what which"
    " how why where into out up down over under make makes made use uses used get gets got set sets self def class return"
    " import true false none null new test tests failing fail fails pass passes fix".split()
)


def words(text: str) -> list[str]:
    """Lower-case words in order, whole identifiers and their parts."""
    found: list[str] = []
    for identifier in _IDENTIFIER.findall(text):
        parts = [part.lower() for part in _BORDER.findall(identifier)]
        if len(parts) > 1:
            found.append(identifier.lower().replace("_", ""))
        found += parts
    return [word for word in found if len(word) > 1 and word not in COMMON]
