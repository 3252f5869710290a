"""Loops, conditions and calls."""

from __future__ import annotations

import re

from ._steps import LEFT, MOST_ROUNDS, Body, Return, Step, Values, rule, run_steps
from ._text import VALUE, Operation, malformed, unsupported


def _counted(values: Values, line: int) -> None:
    values[LEFT].rounds -= 1
    if values[LEFT].rounds < 0:
        raise unsupported(line, f"loops go round more than {MOST_ROUNDS} times")


def _yielded(body: Body, op: Operation, region: list[Operation], count: int) -> tuple[str, ...]:
    """What a region ends with, which is taken off it."""
    last = region[-1] if region and region[-1].name == "scf.yield" else None
    if last is None:
        if count:
            raise malformed(op.line, f"{op.name} has {count} results, and no scf.yield at its end")
        return ()
    region.pop()
    names = re.match(rf"(?:{VALUE}(?:, )?)*", last.rest)
    found = tuple(n.strip() for n in names[0].split(",")) if names and names[0] else ()
    if len(found) != count:
        raise malformed(last.line, f"scf.yield of {len(found)} values, {count} are wanted")
    return found


@rule("scf.for")
def _for(body: Body, op: Operation) -> Step:
    pattern = (
        rf"({VALUE}) = ({VALUE}) to ({VALUE}) step ({VALUE})\s*"
        r"(?:iter_args\((.*?)\) -> \(.*?\))?\s*(?:: \w+)?\s*\{"
    )
    found = body.match(op, pattern, results=-1)
    begin, end, by = body.use(op, ",".join(found.group(2, 3, 4)))
    counter, results = found[1], op.results
    pairs = [part.split(" = ") for part in (found[5] or "").split(",") if part.strip()]
    carried = tuple(pair[0].strip() for pair in pairs)
    starts = body.use(op, ",".join(pair[1] for pair in pairs))
    if len(op.regions) != 1 or len(results) != len(carried):
        raise malformed(op.line, f"scf.for with {len(carried)} values and {len(results)} results")
    region = list(op.regions[0])
    yielded = _yielded(body, op, region, len(results))
    steps = body.steps(region, (counter, *carried), yielded)

    def loop(values: Values) -> None:
        held = [values[start] for start in starts]
        if values[by] < 1:
            raise ValueError(f"a loop by steps of {values[by]}")
        for i in range(values[begin], values[end], values[by]):
            _counted(values, op.line)
            values[counter] = i
            for name, value in zip(carried, held, strict=True):
                values[name] = value
            run_steps(steps, values)
            held = [values[name] for name in yielded]
        values.update(zip(results, held, strict=True))

    return loop


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
    functions = body.functions

    def call(values: Values) -> None:
        made = functions[name](values, [values[argument] for argument in arguments])
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
