"""What every public call is tried with in place of one of its arguments."""

import inspect

import numpy as np

import girih
import girih.heir
import girih.nn
from girih import (
    ckks, columns, discrete, errors, integer, models, progress, rows, serving, wire, worker,
)  # fmt: skip

REFUSED = (errors.Error, TypeError, ValueError, OverflowError, IndexError, LookupError)
NONSENSE = [
    None, 5, -1, 2.5, 1j, "text", b"bytes", object(), [], {}, [[1, 2], [3]], [None], ["a"],
    float("nan"), 2**70, -(2**70), (), lambda: None, np.zeros((0, 3)), np.array(["x"]),
    np.array([1.5, -2.5]), np.array([2**63], np.uint64), np.zeros((2, 2, 2)),
]  # fmt: skip
# More of these where one argument alone is wrong.
MORE = [
    True, 0, 1 << 40, float("inf"), 1e-300, "", "\0", "STD1", bytearray(b"girih"), memoryview(b""),
    memoryview(b"in steps")[::2], [0] * 70, [True, 2, -3], {"a": [9], "x": object()}, {1: 2},
    iter([1]), range(3), slice(None), int, len, Ellipsis, np.zeros((3, 0), bool),
    np.array([1, 2], np.float16), np.array([1 + 2j]), np.array([None]), np.array(["2024-01-01"],
    "datetime64[D]"), np.zeros(4, [("a", "u1")]), np.ma.masked_array([1, 2], [True, False]),
    np.arange(8)[::2], np.array(3), np.array([1, 0], ">i2"), np.float32(0.5), np.int8(-1),
]  # fmt: skip


def tried(name, function, arguments, keywords, wrong):
    """Calls with each argument in turn replaced by each wrong thing; how many were refused."""
    refused = 0
    places = [*range(len(arguments)), *keywords]
    for place in places:
        for nonsense in wrong:
            changed, named = list(arguments), dict(keywords)
            if isinstance(place, int):
                changed[place] = nonsense
            else:
                named[place] = nonsense
            try:
                function(*changed, **named)
            except errors.InternalError as error:
                raise AssertionError(f"{name}, {place} {nonsense!r}: {error}") from error
            except REFUSED as error:
                refused += 1
                assert str(error), f"{name}, {place} {nonsense!r}: refused without a word"
            except BaseException as error:
                raise AssertionError(f"{name}, {place} {nonsense!r}: {error!r}") from error
    return refused


def takes_arguments(function):
    parameters = list(inspect.signature(function).parameters.values())
    return any(p.name not in ("self", "_exception") for p in parameters)


def public_calls():
    """All that takes arguments, by the names that users write."""
    modules = {
        "girih": girih, "ckks": ckks, "discrete": discrete, "integer": integer,
        "columns": columns, "models": models, "heir": girih.heir, "nn": girih.nn,
        "progress": progress, "ray": girih.ray, "rows": rows, "serving": serving, "wire": wire,
        "worker": worker,
    }  # fmt: skip
    found = set()
    for module, things in modules.items():
        for name in things.__all__:
            thing = getattr(things, name)
            if inspect.ismodule(thing) or name.startswith("_") or not callable(thing):
                continue
            if not inspect.isclass(thing):
                if inspect.isroutine(thing) and takes_arguments(thing):
                    found.add(f"{module}.{name}")
                continue
            # Plain records that calls return check nothing.
            if issubclass(thing, BaseException) or name == "WorkerInfo":
                continue
            # Of a class that is made by its functions alone there is no other, and those of
            # compiled models and programs are for compile, load and read.
            if has_constructor(thing) and module not in ("heir", "nn"):
                found.add(f"{module}.{name}")
            for member in dir(thing):
                of_class = getattr(thing, member)
                if member.startswith("_") or not callable(of_class):
                    continue
                if takes_arguments(of_class):
                    found.add(f"{module}.{name}.{member}")
    return found


def has_constructor(thing):
    try:
        return takes_arguments(thing)
    except ValueError:
        return False
