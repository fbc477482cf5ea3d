"""Finds, in source code, sentences for people that translators' tools would not find, or could not make sense of."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# What they are given is read by people, beside every subclass of AppError.
MAKERS = frozenset(
    {
        "AppError",
        "FieldError",
        "ValidationError",
        "QdrantError",
        "HubError",
        "UnusableAnswerError",
        "InvalidVectorError",
        "VectorStoreError",
        "SettingField",
        "ConfigField",
    }
)
# They make a plain str of what they are told, so that it must be in the language of the request already.
PLAIN_MAKERS = frozenset({"ValidationError"})
# Arguments that are words for programs.
UNREAD_ARGUMENTS = frozenset({"code", "param", "field", "name", "key", "default"})
ONE_TEXT = frozenset({"_", "gettext", "gettext_lazy", "gettext_noop"})
TWO_TEXTS = frozenset({"ngettext", "ngettext_lazy"})
MARKING = ONE_TEXT | TWO_TEXTS
DJANGO, OURS = "django.utils.translation", "core.words"
MARKING_MODULES = {"translation": DJANGO, "words": OURS}
PRODUCT = "OmniRoute Memory"
UNNAMED_PLACEHOLDER = re.compile(r"(?<!%)(?:%%)*%[a-z]|\{\}")


@dataclass
class Module:
    """A parsed source. `origins` tells where a name that marks texts comes from, `texts` what names stand for."""

    tree: ast.Module
    origins: dict[str, str] = field(default_factory=dict)
    texts: dict[str, list[ast.expr]] = field(default_factory=dict)

    @classmethod
    def parse(cls, source: str) -> "Module":
        module = cls(ast.parse(source))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module in (DJANGO, OURS):
                marks = [alias for alias in node.names if alias.name in MARKING]
                module.origins |= {alias.asname or alias.name: node.module for alias in marks}
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        module.texts.setdefault(target.id, []).append(node.value)
        return module

    def find_marking(self, node: ast.AST) -> str | None:
        """Return the module whose function this call marks a text with, None if it marks none."""
        if not isinstance(node, ast.Call):
            return None
        name = name_call(node)
        if isinstance(node.func, ast.Attribute):
            return MARKING_MODULES.get(name_of(node.func.value)) if name in MARKING else None
        return self.origins.get(name)


def list_error_classes(trees: Iterable[ast.Module]) -> frozenset[str]:
    """Return the names of AppError and everything made of it."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    known = {"AppError"}
    while True:
        more = {it.name for it in classes if known & {name_of(base) for base in it.bases}} - known
        if not more:
            return frozenset(known)
        known |= more


def find_faults(module: Module, makers: frozenset[str], *, is_page: bool) -> Iterator[tuple[int, str]]:
    """Give (line, what is wrong). On a page Django's functions mark errors too, below it those of core.words must."""
    for call in _list_makings(module.tree, makers | _list_forwarders(module.tree, makers)):
        yield from _judge_making(module, call, is_page=is_page)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and module.find_marking(node) is not None:
            yield from _judge_marking(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            if any(module.find_marking(side) is not None for side in (node.left, node.right)):
                yield node.lineno, "a sentence is put together of parts"
        elif isinstance(node, ast.Attribute) and node.attr == "format" and module.find_marking(node.value) == OURS:
            yield node.lineno, "format forgets the sentence: fill it with %"
        elif isinstance(node, ast.JoinedStr) and any(module.find_marking(it) is not None for it in ast.walk(node)):
            yield node.lineno, "a marked text stands inside an f-string"


def _list_makings(tree: ast.Module, makers: frozenset[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_call(node) in makers:
            yield node
        elif isinstance(node, ast.ClassDef) and node.name in makers:
            yield from (it for it in ast.walk(node) if _is_super_init(it))  # type: ignore[misc]


def _list_forwarders(tree: ast.Module, makers: frozenset[str]) -> frozenset[str]:
    """Return the functions of a module that make errors, or what else is told, of a text that they are given."""
    forwarders: set[str] = set()
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        parameters = {it.arg for it in (*function.args.args, *function.args.kwonlyargs)} - UNREAD_ARGUMENTS
        makings = [it for it in ast.walk(function) if isinstance(it, ast.Call) and name_call(it) in makers]
        given = [value for call in makings for value in (*call.args, *(it.value for it in call.keywords))]
        if any(isinstance(value, ast.Name) and value.id in parameters for value in given):
            forwarders.add(function.name)
    # What every class has does not say whose it is.
    return frozenset(forwarders - {"__init__"})


def _is_super_init(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "__init__"
        and isinstance(node.func.value, ast.Call)
        and name_call(node.func.value) == "super"
    )


def _judge_making(module: Module, call: ast.Call, *, is_page: bool) -> Iterator[tuple[int, str]]:
    needs_django = name_call(call) in PLAIN_MAKERS
    given = [*call.args, *(it.value for it in call.keywords if it.arg not in UNREAD_ARGUMENTS)]
    for node in _list_parts(module, given):
        marking = module.find_marking(node)
        if marking is None:
            if is_sentence(node):
                yield node.lineno, f"not marked: {ast.unparse(node)[:70]}"
        elif needs_django and marking == OURS:
            yield node.lineno, "this becomes a plain str at once: Django's gettext is needed"
        elif not needs_django and not is_page and marking == DJANGO:
            yield node.lineno, "this may be kept or logged: gettext of core.words is needed"


def _list_parts(module: Module, given: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Give what a text can be made of: both sides of a choice, what a name stands for, the values of a dictionary."""
    for node in given:
        match node:
            case ast.Name(id=name):
                yield from _list_choices(module.texts.get(name, []))
            case ast.Dict(values=values) | ast.List(elts=values) | ast.Tuple(elts=values):
                yield from _list_parts(module, values)
            case _:
                yield from _list_choices([node])


def _list_choices(given: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for node in given:
        match node:
            case ast.IfExp(body=body, orelse=orelse):
                yield from _list_choices([body, orelse])
            case ast.BoolOp(values=values):
                yield from _list_choices(values)
            case ast.BinOp(left=left, op=ast.Mod()):
                yield from _list_choices([left])
            case ast.BinOp(left=left, right=right):
                yield from _list_choices([left, right])
            case _:
                yield node


def _judge_marking(call: ast.Call) -> Iterator[tuple[int, str]]:
    texts = call.args[: 2 if name_call(call) in TWO_TEXTS else 1]
    for text in texts:
        if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
            yield text.lineno, f"only a literal can be found by translators: {ast.unparse(text)[:70]}"
        elif UNNAMED_PLACEHOLDER.search(text.value):
            yield text.lineno, f"a placeholder without a name: {text.value[:70]}"


def is_sentence(node: ast.expr) -> bool:
    """Tell whether a literal or an f-string is for people: words for programs have no space and no capital."""
    match node:
        case ast.Constant(value=str(text)):
            return (" " in text.strip() or text[:1].isupper()) and not (text.isupper() or text == PRODUCT)
        case ast.JoinedStr(values=parts):
            said = "".join(it.value if isinstance(it, ast.Constant) else "x" for it in parts)
            return " " in said.strip() or said[:1].isupper()
        case _:
            return False


def name_call(call: ast.Call) -> str:
    return name_of(call.func)


def name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return name_of(value)
        case _:
            return ""
