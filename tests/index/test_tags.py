# ruff: noqa: E501 (samples read best as one line)
"""Each language's query file against a small sample: kinds, names and parents in file order."""

import pytest

from tcoder.index.tags import tags

SAMPLES = {
    "python": (
        '''
import os
from a.b import c
LIMIT = 3
class Parser(Base):
    """Reads."""
    def parse_hue(self, text: str) -> int:
        """Parse one.

        More."""
        def inner(): ...
        return 1
async def main(): pass
''',
        "variable LIMIT, class Parser, method Parser.parse_hue, function Parser.parse_hue.inner, function main",
    ),
    "javascript": (
        """
import x from "./x";
const y = require("y");
class Topic { create(data) { return 1 } field = () => 2 }
function plain() {}
const arrow = async (a) => a;
Topics.purge = async function (tid) {};
module.exports = { load() {}, save: function () {} };
const LIMIT = 3;
""",
        "variable y, class Topic, method Topic.create, method Topic.field, function plain, function arrow, "
        "function purge, function load, function save, variable LIMIT",
    ),
    "typescript": (
        """
export interface Mail { send(to: string): void }
export type Id = string
enum Color { Red }
export abstract class Model<T> { abstract load(): T; private go = () => 1; run(): void {} }
namespace Deep { export function inner() {} }
""",
        "interface Mail, method Mail.send, type Id, enum Color, class Model, method Model.load, method Model.go, "
        "method Model.run, namespace Deep, method Deep.inner",
    ),
    "tsx": ("export const App = (p: P) => <b/>\nfunction Row() { return <i/> }\n", "function App, function Row"),
    "go": (
        """
package x
import "fmt"
const Limit = 3
var ErrNone = 1
type Server struct { a int }
type Store interface { Get() }
type Kind string
func New() *Server { return nil }
func (s *Server) Serve(a int) error { return nil }
func (l List[T]) Len() int { return 0 }
""",
        "constant Limit, variable ErrNone, struct Server, interface Store, type Kind, function New, "
        "method Server.Serve, method List.Len",
    ),
    "rust": (
        """
use std::fmt;
/// A parser.
pub struct Parser<'a> { x: &'a str }
enum Kind { A }
trait Read { fn read(&self) -> u8; }
impl<'a> Read for Parser<'a> { fn read(&self) -> u8 { 1 } }
mod inner { pub fn deep() {} }
macro_rules! arg { () => {} }
const LIMIT: u8 = 3;
fn main() {}
""",
        "struct Parser, enum Kind, trait Read, method Read.read, impl Parser, method Parser.read, module inner, "
        "method inner.deep, macro arg, constant LIMIT, function main",
    ),
    "java": (
        """
import java.util.List;
/** Speaks TLS. */
public final class Engine extends Base {
  Engine(int a) {}
  @Override public <T> List<T> wrap(T t) { return null; }
  interface Hook { void call(); }
  enum State { A }
}
record Point(int x) {}
""",
        "class Engine, method Engine.Engine, method Engine.wrap, interface Engine.Hook, method Engine.Hook.call, "
        "enum Engine.State, class Point",
    ),
    "c": (
        """
#include "server.h"
#define MIN(a, b) ((a) < (b))
struct client { int fd; };
typedef struct dict { int n; } dict;
enum mode { A };
static int readQuery(client *c) { return 0; }
char *getName(void) { return 0; }
""",
        "macro MIN, struct client, type dict, struct dict.dict, enum mode, function readQuery, function getName",
    ),
    "cpp": (
        """
#include <x>
namespace net {
class Socket : Base { public: void open(); int fd() const { return 1; } };
}
int Socket::send(int a) { return a; }
template <class T> T& pick(T& a) { return a; }
""",
        "namespace net, class net.Socket, method net.Socket.open, method net.Socket.fd, method Socket.send, "
        "function pick",
    ),
    "csharp": (
        """
using System;
namespace App { public class Mailer : IMailer { public int Size { get; } public Mailer() {} public void Send(string to) {} } interface IMailer {} struct P {} enum E {} record R(int A); }
""",
        "class Mailer, property Mailer.Size, method Mailer.Mailer, method Mailer.Send, interface IMailer, struct P, "
        "enum E, class R",
    ),
    "ruby": (
        "require 'json'\nmodule Net\n  class Http < Base\n    def get(a) = 1\n    def self.open\n    end\n  end\nend\nLIMIT = 3\n",
        "module Net, class Net.Http, method Net.Http.get, method Net.Http.open, constant LIMIT",
    ),
    "php": (
        "<?php\nuse A\\B;\nclass Cart { public function add(int $n): void {} }\ninterface I {}\ntrait T {}\nfunction total() {}\n",
        "class Cart, method Cart.add, interface I, trait T, function total",
    ),
    "kotlin": (
        "import a.b\nval limit = 3\nclass Repo(val a: Int) { fun find(id: Int): Int = 1 }\nobject One { fun go() {} }\nfun main() {}\n",
        "variable limit, class Repo, method Repo.find, object One, method One.go, function main",
    ),
    "swift": (
        "import Foundation\nclass View { init(a: Int) {} func draw() {} }\nstruct P { func x() {} }\nprotocol Q { func y() }\nfunc top() {}\n",
        "class View, method View.init, method View.draw, class P, method P.x, protocol Q, method Q.y, function top",
    ),
    "scala": (
        "import a.b\nobject Main { def run(a: Int): Int = 1 }\ntrait T { def x: Int }\nclass C(a: Int) extends T { def y = 2 }\n",
        "object Main, method Main.run, trait T, method T.x, class C, method C.y",
    ),
    "lua": (
        "local function helper(a) return 1 end\nfunction M.open(x) end\nM.close = function() end\nlocal t = { go = function() end }\n",
        "function helper, method M.open, method M.close, function go",
    ),
    "bash": (
        '#!/bin/bash\nNAME=3\nbuild() {\n  echo "$NAME"\n}\nfunction clean { rm -f x; }\n',
        "variable NAME, function build, function clean",
    ),
    "sql": (
        "CREATE TABLE users (id int);\nCREATE VIEW names AS SELECT id FROM users;\nCREATE INDEX by_id ON users (id);\n",
        "table users, view names, index by_id",
    ),
    "html": ('<html><body><div id="menu"><p>x</p></div></body></html>\n', "element menu"),
    "css": (
        "@import 'a.css';\n.menu > a { color: red }\n@keyframes spin { from { top: 0 } }\n",
        "rule .menu > a, rule spin",
    ),
    "scss": (
        "@mixin box($a) { top: $a }\n.menu { a { top: 1 } }\n@function twice($a) { @return $a }\n",
        "mixin box, rule .menu, rule .menu.a, function twice",
    ),
    "markdown": (
        "# Title\ntext\n## Part one\nmore\n## v1.2\n",
        "heading Title, heading Title.Part one, heading Title.v1.2",
    ),
    "yaml": ("name: ci\non: [push]\njobs:\n  build: 1\n", "key name, key on, key jobs"),
    "toml": ('[project]\nname = "x"\n[[tool.list]]\na = 1\n', "key project, key tool.list"),
    "json": ('{"name": "x", "scripts": {"a": "b"}}', "key name, key scripts"),
}


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions(language: str) -> None:
    text, expected = SAMPLES[language]
    found = tags(text.encode(), language)
    assert ", ".join(f"{span.symbol.kind} {span.symbol.qualified}" for span in found.spans) == expected


def test_signature_doc_and_lines() -> None:
    text = b'class A:\n    def hue(\n        self,\n        text: str,\n    ) -> int:\n        """Parse it.\n\n        More."""\n        return 1\n'
    method = tags(text, "python").spans[1].symbol
    assert method.signature == "def hue( self, text: str, ) -> int"
    assert (method.line, method.end_line, method.doc) == (2, 9, "Parse it.")


def test_doc_comment_above() -> None:
    text = b"/** Speaks TLS.\n * Well.\n */\n@Deprecated\nclass Engine {}\n// no\n\nclass Other {}\n"
    assert [span.symbol.doc for span in tags(text, "java").spans] == ["Speaks TLS.", ""]


def test_imports() -> None:
    assert tags(b"import os\nfrom a.b import (\n  c,\n)\n", "python").imports == ("import os", "from a.b import ( c, )")
    assert tags(b"const a = require('./b'); const c = d('e');", "javascript").imports == ("a = require('./b')",)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x = 1\0", "binary"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS pointer"),
        (b"a = 1\n" * 300_000, "too large"),
        (b"(\n" * 100_000, "unbalanced brackets"),
        (b"[\n" * 50_000 + b"a\n", "unbalanced brackets"),
        (b"x = [" + b"1, " * 8_000 + b"]\n", "minified"),
        (b"a = 1\n" * 8_000 + b"x = [" + b"1, " * 8_000 + b"]\n", "long lines"),
    ],
)
def test_unfit_files_are_not_parsed(data: bytes, problem: str) -> None:
    found = tags(data, "python")
    assert (found.spans, found.problem) == ((), problem)


@pytest.mark.parametrize("text", ["(" * 9_000, "x = " + "[" * 9_000, "def f(:\n" * 500, "class \xff:\n", ""])
def test_broken_text_gives_an_answer(text: str) -> None:
    assert tags(text.encode("latin-1"), "python").problem in ("", "unbalanced brackets")


NOTEBOOK = """{
 "cells": [
  {"cell_type": "markdown", "source": ["# Title"]},
  {"cell_type": "code",
   "source": ["\\n", "import os\\n", "os.getcwd()"]},
  {"cell_type": "code", "source": "x = 1"}
 ]
}
"""


@pytest.mark.parametrize("language", ["bash", "markdown"])
def test_no_character_breaks_a_grammar(language: str) -> None:
    high = "".join(f"{{{chr(point)}<{chr(point)}&{chr(point)} " for point in range(0xA0, 0x110000, 0x1357))
    name = "grün\U000dc0d2"
    text = f"{name}() {{ :; }}\n# {high}\n{high}" if language == "bash" else f"# {name}\n\n{high}"
    assert tags(text.encode("utf-8", "surrogatepass"), language).spans[0].symbol.name == name


def test_notebooks_by_cell() -> None:
    found = tags(NOTEBOOK.encode(), "notebook").spans
    assert [(span.symbol.name, span.symbol.line, span.symbol.signature) for span in found] == [
        ("cell 2", 4, "import os"),
        ("cell 3", 6, "x = 1"),
    ]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cells": 3}', '{"cells": [{"a": 1}]}', "[" * 15_000, '{"cells": [[]]}']
)
def test_what_is_no_notebook_has_no_cells(text: str) -> None:
    assert tags(text.encode(), "notebook").spans == ()
