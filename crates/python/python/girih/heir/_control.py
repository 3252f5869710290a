"""Loops, conditions and calls."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import filled
from ._machines import Plain, Recorded, Trace
from ._steps import LEFT, MACHINE, MOST_ROUNDS, Body, Return, Step, Values, rule, run_steps
from ._tensor import Tensor, array_of
from ._text import VALUE, Operation, malformed, unsupported

#: A number, or the name of one.
_NUMBER = rf"(?:{VALUE}|-?\d+)"


def _counted(values: Values, line: int) -> None:
    values[LEFT].rounds -= 1
    if values[LEFT].rounds < 0:
        raise unsupported(line, f"loops go round more than {MOST_ROUNDS} times")


def _yielded(body: Body, op: Operation, region: list[Operation], count: int) -> tuple[str, ...]:
    """What a region ends with, which is taken off it."""
    last = region[-1] if region and region[-1].name in ("scf.yield", "affine.yield") else None
    if last is None:
        if count:
            raise malformed(op.line, f"{op.name} has {count} results, and no yield at its end")
        return ()
    region.pop()
    names = re.match(rf"(?:{VALUE}(?:, )?)*", last.rest)
    found = tuple(n.strip() for n in names[0].split(",")) if names and names[0] else ()
    if len(found) != count:
        raise malformed(last.line, f"{last.name} of {len(found)} values, {count} are wanted")
    return found


def _carried(body: Body, op: Operation, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Values that go from one round to the next, by their names in the loop and before it."""
    pairs = [part.split(" = ") for part in text.split(",") if part.strip()]
    carried = tuple(pair[0].strip() for pair in pairs)
    starts = body.use(op, ",".join(pair[1] for pair in pairs))
    if len(op.regions) != 1 or len(op.results) != len(carried):
        why = f"{op.name} with {len(carried)} values and {len(op.results)} results"
        raise malformed(op.line, why)
    return carried, starts


def _number(body: Body, op: Operation, word: str) -> Callable[[Values], int]:
    """A number of a loop: written, or a value."""
    if not word.startswith("%"):
        number = int(word)
        return lambda values: number
    (name,) = body.use(op, word)

    def value(values: Values) -> int:
        found: int = values[name]
        return found

    return value


@rule("scf.for", "affine.for")
def _for(body: Body, op: Operation) -> Step:
    pattern = (
        rf"({VALUE}) = ({_NUMBER}) to ({_NUMBER})(?: step ({_NUMBER}))?\s*"
        r"(?:iter_args\((.*?)\) -> \(.*?\))?\s*(?:: \w+)?\s*\{"
    )
    found = body.match(op, pattern, results=-1)
    begin, end, step = (_number(body, op, word or "1") for word in found.group(2, 3, 4))
    counter, results = found[1], op.results
    carried, starts = _carried(body, op, found[5] or "")
    region = list(op.regions[0])
    yielded = _yielded(body, op, region, len(results))
    steps = body.steps(region, (counter, *carried), yielded)

    def loop(values: Values) -> None:
        held = [values[start] for start in starts]
        by = step(values)
        if by < 1:
            raise ValueError(f"a loop by steps of {by}")
        for i in range(begin(values), end(values), by):
            _counted(values, op.line)
            values[counter] = i
            for name, value in zip(carried, held, strict=True):
                values[name] = value
            run_steps(steps, values)
            held = [values[name] for name in yielded]
        values.update(zip(results, held, strict=True))

    return loop


@rule("scf.forall")
def _forall(body: Body, op: Operation) -> Step:
    """Rounds that may run at once, one after the other."""
    pattern = r"\((.*?)\) in \((.*?)\)(?: shared_outs\((.*?)\) -> \(.*?\))?\s*\{"
    found = body.match(op, pattern, results=-1)
    counters, sizes = ([w.strip() for w in text.split(",")] for text in found.group(1, 2))
    carried, starts = _carried(body, op, found[3] or "")
    if len(counters) != len(sizes) or not all(re.fullmatch(_NUMBER, word) for word in sizes):
        raise malformed(op.line, f"scf.forall of {len(counters)} counters in ({found[2]})")
    ends, results = [_number(body, op, word) for word in sizes], op.results
    steps = body.steps(op.regions[0], (*counters, *carried))

    def loop(values: Values) -> None:
        values.update({name: values[start] for name, start in zip(carried, starts, strict=True)})
        for place in itertools.product(*(range(end(values)) for end in ends)):
            _counted(values, op.line)
            values.update(zip(counters, place, strict=True))
            run_steps(steps, values)
        values.update({r: values[name] for r, name in zip(results, carried, strict=True)})

    return loop


@rule("scf.forall.in_parallel")
def _in_parallel(body: Body, op: Operation) -> Step:
    if len(op.regions) != 1:
        raise malformed(op.line, f"{op.name} with {len(op.regions)} regions")
    steps = body.steps(op.regions[0])
    return lambda values: run_steps(steps, values)


@rule("scf.if")
def _if(body: Body, op: Operation) -> Step:
    found, results = body.match(op, rf"({VALUE})(?: -> \(.*\))? \{{", results=-1), op.results
    (condition,) = body.use(op, found[1])
    if len(op.regions) > 2 or (results and len(op.regions) != 2):
        raise malformed(op.line, f"scf.if with {len(op.regions)} regions")
    cases = []
    for operations in op.regions:
        region = list(operations)
        yielded = _yielded(body, op, region, len(results))
        cases.append((body.steps(region, (), yielded), yielded))
    cases += [([], ())] * (2 - len(cases))

    def choose(values: Values) -> None:
        steps, yielded = cases[0] if values[condition] else cases[1]
        run_steps(steps, values)
        values.update({r: values[name] for r, name in zip(results, yielded, strict=True)})

    return choose


def _copied(x: Any) -> Any:
    return array_of(x).copy() if isinstance(x, (np.ndarray, Tensor)) else x


@rule("call", "func.call")
def _call(body: Body, op: Operation) -> Step:
    found = body.match(op, r"@([\w$.-]+)\((.*?)\) : .+", results=-1)
    name, arguments, results = found[1], body.use(op, found[2]), op.results
    called = body.module.functions.get(name)
    if called is None:
        raise malformed(op.line, f"there is no function @{name}")
    if (len(arguments), len(results)) != (len(called.arguments), len(called.results)):
        why = f"{len(called.arguments)} arguments and {len(called.results)} results"
        raise malformed(op.line, f"@{name} has {why}")
    functions, types = body.functions, [t for _, t in called.arguments] + called.results
    packs = "client.pack" in called.roles and all(t.is_float and t.shape for t in types)
    prepares = "server.preprocessing" in called.roles and all(t.is_plain for t in called.results)

    def call(values: Values) -> None:
        inputs = [values[argument] for argument in arguments]
        function, machine = functions[name], values[MACHINE]
        if packs and isinstance(machine, Trace) and machine.unknown(inputs):
            # Packed, unknown numbers are as unknown, and there are many of them.
            made = [filled(t) for t in called.results]
        elif prepares and isinstance(machine, (Plain, Recorded)):
            # They follow from known arguments alone, and take long.
            key = (name, *map(id, inputs))
            if key not in machine.prepared:
                prepared = [_copied(x) for x in function(values, inputs)]
                machine.prepared[key] = (inputs, prepared)
            # Copies, as memory may be written to.
            made = [_copied(x) for x in machine.prepared[key][1]]
        else:
            made = function(values, inputs)
        values.update(zip(results, made, strict=True))

    return call


@rule("return", "func.return")
def _return(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"((?:{VALUE}(?:, )?)*)(?: : .+)?", results=0)
    names = body.use(op, found[1])
    if len(names) != len(body.function.results):
        why = f"{len(names)} results, @{body.function.name} has {len(body.function.results)}"
        raise malformed(op.line, why)

    def end(values: Values) -> None:
        raise Return([values[name] for name in names])

    return end
