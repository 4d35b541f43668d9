"""What a file is, from its name alone: its language and its role in the repository. Pure."""

import re
from functools import lru_cache

from tcoder.protocol.location import FileRole

# a task is rarely about changing what is not source; what is named outright still gets to the top
ROLE_FACTORS: dict[FileRole, float] = {
    "source": 1.0,
    "data": 0.35,
    "docs": 0.3,
    "test": 0.4,
    "generated": 0.2,
    "vendored": 0.2,
}
# grammar names are those of tree-sitter-language-pack; a language without a query file is indexed as plain text
BY_EXTENSION = {
    ".py": "python",
    ".pyi": "python",
    ".pyx": "python",
    ".ipynb": "notebook",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
    ".inl": "cpp",
    ".cs": "csharp",
    ".rb": "ruby",
    ".rake": "ruby",
    ".php": "php",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".swift": "swift",
    ".scala": "scala",
    ".sc": "scala",
    ".lua": "lua",
    ".sh": "bash",
    ".bash": "bash",
    ".sql": "sql",
    ".html": "html",
    ".htm": "html",
    ".css": "css",
    ".scss": "scss",
    ".md": "markdown",
    ".markdown": "markdown",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".json": "json",
}
TEXT_EXTENSIONS = frozenset(
    [
        ".adoc",
        ".bat",
        ".bazel",
        ".cfg",
        ".clj",
        ".cljs",
        ".cmake",
        ".coffee",
        ".conf",
        ".cue",
        ".dart",
        ".edn",
        ".elm",
        ".erl",
        ".ex",
        ".exs",
        ".fs",
        ".fsx",
        ".gradle",
        ".graphql",
        ".groovy",
        ".hs",
        ".ini",
        ".jl",
        ".less",
        ".m",
        ".ml",
        ".mli",
        ".mm",
        ".nim",
        ".nix",
        ".pl",
        ".pm",
        ".properties",
        ".proto",
        ".ps1",
        ".r",
        ".rst",
        ".sass",
        ".svelte",
        ".tcl",
        ".tf",
        ".tpl",
        ".tmpl",
        ".txt",
        ".vim",
        ".vue",
        ".xml",
        ".zig",
        ".j2",
        ".jinja",
        ".jinja2",
        ".ejs",
        ".hbs",
        ".twig",
        ".erb",
        ".haml",
        ".slim",
        ".pug",
        ".styl",
        ".s",
        ".asm",
        ".v",
        ".sv",
        ".vhd",
        ".kdl",
    ]
)
BY_NAME = {
    "Makefile": "text",
    "GNUmakefile": "text",
    "Dockerfile": "text",
    "Rakefile": "ruby",
    "Gemfile": "ruby",
    "Justfile": "text",
    "justfile": "text",
    "CMakeLists.txt": "text",
    "Jenkinsfile": "text",
    "BUILD": "text",
    "WORKSPACE": "text",
    "Procfile": "text",
    "README": "text",
}
DATA_LANGUAGES = frozenset({"json", "yaml", "toml"})
PROSE_LANGUAGES = frozenset({"markdown"})
CODE_LANGUAGES = frozenset(BY_EXTENSION.values()) - DATA_LANGUAGES - PROSE_LANGUAGES

_LOCK_FILES = frozenset(
    [
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "poetry.lock",
        "uv.lock",
        "Cargo.lock",
        "composer.lock",
        "Gemfile.lock",
        "go.sum",
        "Pipfile.lock",
        "npm-shrinkwrap.json",
    ]
)
_VENDORED = re.compile(
    r"(?:^|/)(?:vendor|vendored|third_party|third-party|thirdparty|node_modules|bower_components|site-packages|"
    r"\.venv|venv|deps|external|extern)/"
)
_GENERATED = re.compile(
    r"(?:^|/)(?:dist|generated|__generated__|\.next)/|"
    r"\.min\.(?:js|css)$|\.pb(?:\.gw)?\.go$|_pb2(?:_grpc)?\.pyi?$|\.generated\.\w+$|\.g\.(?:cs|dart)$|"
    r"[.-]bundle\.js$|\.map$|_generated\.\w+$"
)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|specs?|__tests__|__mocks__|testdata|test-utils|testsuite|testsuite-\w+|cypress|e2e|playwright|"
    r"integration-tests?|fixtures?|t|it)/|"
    r"(?:^|/)(?:test_[^/]*|conftest|tests)\.py$|_test\.(?:py|go|rs|rb|exs|cc|cpp|c|dart)$|_spec\.rb$|"
    r"[.-](?:test|spec|cy|stories)\.[cm]?[jt]sx?$|(?:Tests?|IT|TestCase|Spec)\.(?:java|kt|scala|cs|swift|php)$|"
    r"(?:^|/)Test[A-Z][^/]*\.(?:java|kt)$|(?:^|/)tests?\.rs$|_mock\.go$|(?:^|/)[^/]*testsuite[^/]*$",
    re.IGNORECASE,
)
_DOCS = re.compile(
    r"(?:^|/)(?:docs?|documentation|examples?|samples?|demos?|tutorials?|benches|benchmarks?|microbench|[\w-]+-benchmarks?|changelogs?)/|"
    r"\.(?:md|rst|adoc|markdown)$|(?:^|/)(?:CHANGE(?:S|LOG)|NEWS|HISTORY|AUTHORS|LICENSE|README)[^/]*$",
    re.IGNORECASE,
)


def language_of(path: str) -> str:
    """The language of a file, `text` for plain text that is worth searching, empty for what is not indexed."""
    name = path.rpartition("/")[2]
    if name in BY_NAME:
        return BY_NAME[name]
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem:
        return ""
    suffix = f".{extension.lower()}"
    return BY_EXTENSION.get(suffix) or ("text" if suffix in TEXT_EXTENSIONS else "")


@lru_cache(1 << 17)
def role_of(path: str) -> FileRole:
    """What part the file plays; generated and vendored win over test, test over documentation, that over data."""
    name = path.rpartition("/")[2]
    if name in _LOCK_FILES or _GENERATED.search(path):
        return "generated"
    if _VENDORED.search(path):
        return "vendored"
    if _TEST.search(path):
        return "test"
    if _DOCS.search(path):
        return "docs"
    return "source" if language_of(path) in CODE_LANGUAGES else "data"
