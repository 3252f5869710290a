"""Programs of MLIR as HEIR prints them: functions, operations and constants, line by line.

HEIR prints one operation a line; lines that end in a brace open a region. What an operation means
is for those who read its line further.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import errors

#: The name of a value.
VALUE = r"%[\w$.-]+(?:#\d+)?"
#: Arrays of more numbers are refused.
MOST_NUMBERS = 1 << 26
#: Regions within regions.
MOST_REGIONS = 16

_LINE = re.compile(rf"(?:({VALUE}(?::\d+)?(?:, {VALUE}(?::\d+)?)*) = )?([a-z_][\w.]*)(.*)")
_FUNCTION = re.compile(r"func\.func (?:public |private )?@([\w$.-]+)\(")
_GLOBAL = re.compile(r'memref\.global (?:"\w+" )?(?:constant )?@([\w$.-]+) : (memref<[^=]*>) = ')
_OPENING, _CLOSING = "([{<", ")]}>"
#: Lines that resources stand between.
_AROUND_RESOURCES = ("{-#", "dialect_resources: {", "builtin: {", "}", "#-}", "")
_TYPES = "numbers, memory, tensors, and those of Lattigo and OpenFHE"


def malformed(line: int, why: str) -> errors.MalformedError:
    """Text that is no program."""
    return errors.MalformedError(f"HEIR, line {line}: {why}")


def unsupported(line: int, why: str) -> errors.UnsupportedError:
    """A program that does what is not known here."""
    return errors.UnsupportedError(f"HEIR, line {line}: {why}")


def end_of(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`; -1 where there is none."""
    depth, at = 0, start
    while at < len(text):
        letter = text[at]
        if letter == '"':
            at = text.find('"', at + 1)
            if at < 0:
                return -1
        elif text.startswith("->", at):
            at += 1
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1


def split(text: str) -> list[str]:
    """The parts between commas that no brackets enclose."""
    parts, begin, at = [], 0, 0
    while at < len(text):
        if text[at] in '([{<"':
            at = text.find('"', at + 1) + 1 if text[at] == '"' else end_of(text, at)
            if at <= 0:
                break
        elif text[at] == ",":
            parts.append(text[begin:at].strip())
            at = begin = at + 1
        else:
            at += 1
    last = text[begin:].strip()
    return [*parts, last] if parts or last else []


@dataclass(frozen=True)
class Type:
    """The type of a value: a name, and of memory and tensors their shape and the type of what they
    hold."""

    name: str
    #: Sizes of a tensor that only a run knows are -1.
    shape: tuple[int, ...] | None = None

    @property
    def is_ciphertext(self) -> bool:
        return self.name in ("lattigo.rlwe.ciphertext", "openfhe.ciphertext")

    @property
    def is_plain(self) -> bool:
        """Whether it is a plaintext or a linear map."""
        return self.name in (
            "lattigo.rlwe.plaintext", "lattigo.ckks.linear_transformation", "openfhe.plaintext"
        )  # fmt: skip

    @property
    def is_number(self) -> bool:
        return self.name == "index" or re.fullmatch(r"[if]\d+", self.name) is not None

    @property
    def is_float(self) -> bool:
        return self.name in ("f16", "bf16", "f32", "f64")


@dataclass
class Operation:
    line: int
    results: tuple[str, ...]
    name: str
    rest: str
    #: Bodies of a loop, or of a condition and its other case.
    regions: list[list[Operation]] = field(default_factory=list)


@dataclass
class Function:
    name: str
    line: int
    arguments: list[tuple[str, Type]]
    results: list[Type]
    #: What HEIR says of it: the program that it belongs to, its part in it, and of which argument
    #: or result.
    program: str | None
    roles: tuple[str, ...]
    index: int
    body: list[Operation] = field(default_factory=list)


@dataclass
class Module:
    functions: dict[str, Function] = field(default_factory=dict)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    #: Constants that stand behind the module, in hexadecimal digits.
    resources: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    #: Slots that the program was compiled for.
    slots: int | None = None


class Reader:
    """Reads a module; each line is looked at once."""

    def __init__(self, text: str) -> None:
        self.module = Module()
        self._lines = text.rstrip().splitlines()
        self._at = 0
        self._resources()
        self._read()

    @property
    def _line(self) -> int:
        return self._at

    def _next(self) -> str | None:
        """The next line that says something."""
        while self._at < len(self._lines):
            line = self._lines[self._at].strip()
            self._at += 1
            if line and not line.startswith("//"):
                return line
        return None

    def _read(self) -> None:
        open_modules = 0
        while (line := self._next()) is not None:
            if line == "}" and open_modules:
                open_modules -= 1
            elif line.startswith(("module ", "builtin.module")) and line.endswith("{"):
                open_modules += 1
                slots = re.search(r"scheme\.requested_slot_count = (\d+)", line)
                self.module.slots = int(slots[1]) if slots else self.module.slots
            elif line[0] in "!#" and " = " in line:
                name, meaning = line.split(" = ", 1)
                self.module.aliases[name] = meaning
            elif line.startswith("memref.global "):
                self._global(line)
            elif line.startswith("func.func "):
                self._function(line)
            else:
                why = f"{line.split()[0]!r} is no function, constant or module"
                raise malformed(self._line, why)
        if open_modules:
            raise malformed(len(self._lines), "the text ends within a module")

    def _resources(self) -> None:
        """Takes what stands behind the module in {-# .. #-} off the lines."""
        begins = [i for i, line in enumerate(self._lines) if line.strip() == "{-#"]
        if not begins:
            return
        for at, line in enumerate(self._lines[begins[0] :], begins[0] + 1):
            found = re.fullmatch(r'\s*([\w.$-]+): "0x([0-9A-Fa-f]*)",?\s*', line)
            if found is not None:
                self.module.resources[found[1]] = found[2]
            elif line.strip().rstrip(",") not in _AROUND_RESOURCES:
                raise malformed(at, f"{line.strip()[:60]!r} is no resource of bytes")
        if self._lines[-1].strip() != "#-}":
            raise malformed(len(self._lines), "the text ends within its resources")
        del self._lines[begins[0] :]

    # Types and constants

    def type(self, text: str, line: int) -> Type:
        """A type, by its text."""
        text = text.strip()
        text = self.module.aliases.get(text, text)
        if text.startswith("!"):
            return Type(text[1:].split("<", 1)[0])
        kind = text.split("<", 1)[0]
        if kind in ("memref", "tensor") and end_of(text, len(kind)) == len(text):
            inner, *layout = split(text[len(kind) + 1 : -1]) or [""]
            sizes = re.match(r"(?:(?:\d+|\?)x)*", inner)
            assert sizes is not None
            shape = [-1 if d == "?" else int(d) for d in sizes[0].split("x")[:-1]]
            if kind == "memref" and -1 in shape:
                raise unsupported(line, f"{text}: sizes that are known when it runs alone")
            if kind == "tensor" and layout:
                why = "tensors without a layout are read"
                raise unsupported(line, f"the type {text[:60]!r}: {why}")
            numbers = math.prod(size for size in shape if size > 0)
            if numbers > MOST_NUMBERS:
                raise unsupported(line, f"{text}: {numbers} elements, {MOST_NUMBERS} at most")
            return Type(self.type(inner[sizes.end() :], line).name, tuple(shape))
        if re.fullmatch(r"index|[if]\d+|bf16", text):
            return Type(text)
        raise unsupported(line, f"the type {text[:60]!r}: {_TYPES} are read")

    def _global(self, line: str) -> None:
        found = _GLOBAL.match(line)
        if found is None:
            raise unsupported(self._line, f"{line[:60]!r}: constants have a name and dense values")
        type = self.type(found[2], self._line)
        text = line[found.end() :]
        end = end_of(text, text.find("<")) if text.startswith("dense") else -1
        if end < 0:
            raise malformed(self._line, f"the constant @{found[1]} has no dense<..> that ends")
        self.module.constants[found[1]] = self.dense(text[:end], type, self._line)

    def dense(self, text: str, type: Type, line: int) -> NDArray[Any]:
        """The values of dense<..>: one for all, nested lists, or bytes in hexadecimal digits; of
        dense_resource<..>, those behind the module."""
        shape, (kind, _, text) = type.shape or (), text[:-1].partition("<")
        if kind not in ("dense", "dense_resource"):
            raise unsupported(line, f"constants by {kind}<..>: dense and dense_resource are read")
        whole = kind == "dense" and not text.startswith('"') and not type.is_float
        if type.name not in ("f32", "f64") and not (whole and type.is_number) or -1 in shape:
            why = "f32, f64 and whole numbers in decimal digits are read"
            raise unsupported(line, f"constants of {type.name}: {why}")
        if kind == "dense_resource":
            held = self.module.resources.get(text)
            if held is None:
                raise malformed(line, f"there is no resource {text} behind the module")
            # Behind four bytes, which say how the others are aligned.
            text = f'"0x{held[8:]}"'
        try:
            if text.startswith('"0x'):
                bits = "<f4" if type.name == "f32" else "<f8"
                values = np.frombuffer(bytes.fromhex(text[3:-1]), bits).astype(np.float64)
            else:
                words = re.sub(r"[\[\]\s]", "", text).split(",")
                read = int if whole else functools.partial(number, type=type.name)
                values = np.array([read(word) for word in words], object if whole else float)
            if values.size == 1:
                return np.full(shape, values[0])
            return values.reshape(shape)
        except ValueError as error:
            raise malformed(line, f"a constant of shape {shape}: {error}") from None

    # Functions

    def _function(self, line: str) -> None:
        begin, header = self._line, _FUNCTION.match(line)
        if header is None:
            raise malformed(begin, f"no function: {line[:60]!r}")
        name, end = header[1], end_of(line, header.end() - 1)
        if end < 0 or not line.endswith("{"):
            raise malformed(begin, f"the head of @{name} does not end in this line")
        arguments = []
        for part in split(line[header.end() : end - 1]):
            value, _, type = part.partition(": ")
            arguments.append((value, self.type(without_attributes(type), begin)))
        rest = line[end:-1].strip()
        attributes = rest.rfind("attributes {")
        attributes = len(rest) if attributes < 0 else attributes
        results = self.types(rest[:attributes].removeprefix("->"), begin)
        interface = rest[attributes:]
        program = re.search(r'heir\.interface = \{.*func_name = "([^"]*)"', interface)
        roles = re.search(r"roles = \[([^\]]*)\]", interface)
        index = re.search(r"\bindex = (\d+)", interface)
        function = Function(
            name, begin, arguments, results, program[1] if program else None,
            tuple(re.findall(r'"([^"]*)"', roles[1])) if roles else (),
            int(index[1]) if index else -1,
        )  # fmt: skip
        if name in self.module.functions:
            raise malformed(begin, f"a second function @{name}")
        function.body, closing = self._region(f"@{name}, which begins in line {begin}")
        if closing != "}":
            raise malformed(self._line, f"{closing!r} in @{name}")
        self.module.functions[name] = function

    def types(self, text: str, line: int) -> list[Type]:
        """The types of results: one, or several in parentheses."""
        text = text.strip()
        if text.startswith("(") and end_of(text, 0) == len(text):
            text = text[1:-1]
        return [self.type(without_attributes(part), line) for part in split(text)]

    def _region(self, what: str, depth: int = 0) -> tuple[list[Operation], str]:
        """The operations until a line that begins with a closing brace, and that line."""
        if depth > MOST_REGIONS:
            raise unsupported(self._line, f"more than {MOST_REGIONS} loops in loops")
        found: list[Operation] = []
        while (line := self._next()) is not None:
            if line.startswith("}"):
                return found, line
            operation = self._operation(line)
            found.append(operation)
            if not line.endswith("{"):
                continue
            closing = "} else {"
            while closing == "} else {":
                region, closing = self._region(what, depth + 1)
                operation.regions.append(region)
            if closing != "}":
                raise unsupported(self._line, f"{closing!r} at the end of {operation.name}")
        raise malformed(len(self._lines), f"the text ends within {what}")

    def _operation(self, line: str) -> Operation:
        found = _LINE.fullmatch(line)
        if found is None:
            raise malformed(self._line, f"no operation: {line[:60]!r}")
        results: list[str] = []
        for part in split(found[1] or ""):
            name, _, count = part.partition(":")
            if count and not 0 < int(count) <= 1000:
                raise malformed(self._line, f"{part}: 1 to 1000 results")
            results += [f"{name}#{i}" for i in range(int(count))] if count else [name]
        return Operation(self._line, tuple(results), found[2], found[3].strip())


def without_attributes(text: str) -> str:
    """A type without what is said of it in braces."""
    at = 0
    while at < len(text):
        if text[at] == "{":
            return text[:at].strip()
        at = end_of(text, at) if text[at] in "(<[" else at + 1
        if at < 0:
            break
    return text.strip()


def number(word: str, type: str) -> float:
    """A number as it is written; in hexadecimal digits it is the bits of the type."""
    if word.startswith("0x"):
        kind, size = {"f32": ("<f4", 4), "f64": ("<f8", 8)}[type]
        return float(np.frombuffer(int(word, 16).to_bytes(size, "little"), kind)[0])
    return float(word)
