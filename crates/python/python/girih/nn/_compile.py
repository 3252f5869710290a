"""From a module to a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ckks, errors
from . import _stages
from ._client import ClientPart
from ._costs import Costs
from ._functions import ON_INTERVALS, function, interval
from ._levels import Placed, Rules, Task, place
from ._model import Model
from ._ops import Network
from ._run import Work, work
from ._sparse import Floats
from ._stages import Program, Stage
from ._trace import Tracer, torch

#: Inputs of a calibration batch that polynomials are compared with the module on.
_JUDGED = 64

#: Sets that are taken where none is named, the fastest first.
_SETS = ("CKKS_N14_D40", "CKKS_N15_D40", "CKKS_D35")

#: Ciphertexts that one value may take.
_MOST_PARTS = 64


def compile(
    module: Any,
    example_input: Any,
    *,
    set: ckks.Parameters | str | None = None,
    calibration: Any = None,
    margin: float = 1.25,
    error: float = 2.0**-10,
    rows: int | None = None,
    samples: int = 0,
    costs: Costs | None = None,
) -> Model:
    """A PyTorch module as a model for encrypted inputs.

    `example_input` and `calibration` are batches of inputs. What numbers reach anywhere in the
    network on the calibration batch, times `margin`, is the range that they are computed for;
    without a calibration batch the example is one. Polynomials are within `error` of each
    activation, as a share of what it reaches on its range.

    Layers and bootstrappings are placed where they take least by `costs`, which `measure` finds for
    a set on a device; without, by a model of a graphics card.

    Inputs that share a ciphertext are as many as fit, or `rows`, a power of two. Where the numbers
    of an input or of a layer are more than the slots of a ciphertext, they take several. Of the
    calibration
    batch the first `samples` are stored with the model, with what the module makes of them and
    what `Model.plain` does.

    :raises girih.errors.UnsupportedError: for a layer that is not known, and for networks that the
        set has no slots or levels for; it names the layer, and what would do.
    """
    title = type(module).__name__
    if not isinstance(module, torch().nn.Module):
        raise TypeError(f"a torch.nn.Module is needed, not {title}")
    if not 1 <= margin < math.inf:
        raise errors.MismatchError(f"margin={margin}: ranges are the calibration's times 1 or more")
    if not 2.0**-26 <= error < 0.0625:
        raise errors.MismatchError(f"error={error}: it must be from 2**-26 to below 1/16")
    example = _batch("example_input", example_input)
    batch = example if calibration is None else _batch("calibration", calibration)
    if batch.shape[1:] != example.shape[1:]:
        why = f"calibration of shape {tuple(batch.shape)}: inputs are {tuple(example.shape[1:])}"
        raise errors.MismatchError(why)
    if isinstance(samples, bool) or not 0 <= samples <= min(len(batch), _JUDGED):
        most = f"the calibration batch has {len(batch)}, and {_JUDGED} at most are stored"
        raise errors.MismatchError(f"samples={samples}: {most}")
    tracer = Tracer(module, example)
    network = tracer.network()
    ranges, results = tracer.measure(batch)
    inputs = batch.double().numpy()
    how = (margin, error, set, rows, samples, costs)
    return compiled(title, network, ranges, how, inputs, results)


def _batch(what: str, given: Any) -> Any:
    """A batch of inputs as a tensor."""
    try:
        found = torch().as_tensor(given).detach().cpu().float()
    except (TypeError, ValueError, RuntimeError) as refused:
        raise errors.MismatchError(f"{what}: {refused}") from None
    if found.ndim < 2 or not len(found):
        why = f"{what} of shape {tuple(found.shape)}: a batch of inputs, (inputs, ..), is needed"
        raise errors.MismatchError(why)
    if not torch().isfinite(found).all():
        raise errors.MismatchError(f"{what}: its numbers must be finite")
    return found


#: The least and the largest number of a value.
_Ranges = list[tuple[float, float]]


def _made(
    title: str, network: Network, ranges: _Ranges, margin: float, error: float
) -> list[Stage]:
    """The stages of a network, by what its values reach."""
    ops, at, made = network.ops, _stages.places(network), {0: 0}
    bounds = [margin * max(-low, high) or 1.0 for low, high in ranges]
    stages = [Stage("input", 0, 0, (), at[0], bounds[0])]
    for root in _stages.roots(network)[1:]:
        op = ops[root]
        layer, where = op.name, f"{title}: layer {op.name}"
        value = op.inputs[0] if op.kind == "function" else root
        if op.kind == "product":
            factors = tuple(_stages.sources(network, i, made, -1)[0] for i in op.inputs)
            one, other = (stages[k] for k in factors)
            if one.place != other.place:
                why = "a product of values that lie in different slots: what made them differs"
                raise errors.UnsupportedError(f"{where} (product): {why}")
            bound = one.out * other.out
            stages.append(Stage(layer, root, root, factors, one.place, bound, is_product=True))
        else:
            bound, centre, what = bounds[value], 0.0, None
            if op.kind == "function":
                name = op.how["function"]
                if name in ON_INTERVALS:
                    centre, bound = interval(name, *ranges[value], margin)
                what = function(name, centre, bound, error, where)
            sources = _stages.sources(network, value, made, root)
            stages.append(Stage(layer, value, root, sources, at[value], bound, what, centre))
        made[root] = len(stages) - 1
    if len(stages) == 1:
        raise errors.UnsupportedError(f"{title}: it computes nothing of its input")
    return stages


def _parameters(
    title: str, program: Program, given: ckks.Parameters | str | None, costs: Costs | None
) -> tuple[Costs, list[Placed], list[Work]]:
    """Costs of the set that is taken, where layers are placed, and what they take."""
    if isinstance(given, str):
        given = ckks.Parameters(given)
    if given is not None and not isinstance(given, ckks.Parameters):
        why = f"set: a girih.ckks.Parameters or a name is needed, not {type(given).__name__}"
        raise TypeError(why)
    if costs is not None and not isinstance(costs, Costs):
        raise TypeError(f"costs: what nn.measure returns is needed, not {type(costs).__name__}")
    if costs is not None and given not in (None, costs.parameters):
        why = f"costs of {costs.parameters.name}, and set={given.name if given else None}"
        raise errors.MismatchError(f"{why}: costs are those of one set, measure(set) finds them")
    given = costs.parameters if costs else given
    period = max(stage.place.period for stage in program.stages)
    refused, works = None, {}
    candidates = [given] if given else [ckks.Parameters(name) for name in _SETS]
    for one in candidates:
        most = min(period, one.slots)
        if most < period:
            refused = _too_large(title, program.stages, one)
            # Parts of a value cost more than a set of more slots.
            if refused or one != candidates[-1]:
                continue
        if most not in works:
            works[most] = work(program, most)
        lowest = one.bootstrap_level if one.bootstraps else None
        by = costs or Costs.modelled(one)
        rules = Rules(one.default_level, lowest, by.bootstrapping or 0.0)
        placed = place(_tasks(program, works[most], by, most), rules)
        if not isinstance(placed, int):
            return by, placed, works[most]
        refused = _out_of_levels(title, program.stages, placed, one)
    assert refused is not None
    raise refused


def _too_large(
    title: str, stages: list[Stage], set: ckks.Parameters
) -> errors.UnsupportedError | None:
    """Why values do not fit several ciphertexts of a set either."""
    stage = max(stages, key=lambda stage: stage.place.period)
    count = stage.place.parts(set.slots)
    if count > _MOST_PARTS:
        why = (
            f"{stage.place.period} slots are needed, which are {count} ciphertexts of {set.name}, "
            f"and {_MOST_PARTS} at most are there: a set of more slots (CKKS_D35 has 32768), a "
            "smaller input, fewer channels or a larger stride would fit"
        )
        return errors.UnsupportedError(f"{title}: layer {stage.name}: {why}")
    last = stages[-1]
    if last.place.parts(set.slots) > 1:
        why = (
            f"results lie in {last.place.period} slots, {set.name} has {set.slots}: they must fit "
            "one ciphertext, such as behind a pooling or a linear layer"
        )
        return errors.UnsupportedError(f"{title}: layer {last.name}: {why}")
    return None


def _out_of_levels(
    title: str, stages: list[Stage], k: int, set: ckks.Parameters
) -> errors.UnsupportedError:
    stage, most = stages[k], set.default_level
    what = stage.function.name if stage.function else "linear"
    if set.bootstraps:
        left = most - set.bootstrap_level
        why = (
            f"it takes {stage.levels} levels and a linear layer one, a bootstrapping of {set.name} "
            f"leaves {left}: a larger error=, a smaller range or a set of more levels (CKKS_D35 "
            "leaves 16) would do"
        )
    else:
        why = (
            f"levels end there: {set.name} has {most} and no bootstrapping; a set that has one "
            "(CKKS_D35), more levels, or a larger error= would do"
        )
    return errors.UnsupportedError(f"{title}: layer {stage.name} ({what}): {why}")


def _tasks(program: Program, works: list[Work], costs: Costs, most: int) -> list[Task]:
    """Layers, with what they take by level."""
    found = []
    for stage, of in zip(program.stages, works, strict=True):
        parts = stage.place.parts(most)
        products = parts * (stage.function.products if stage.function else 0)
        # What is not a key switch counts as a tenth of one.
        linear = [
            of.baby * shared
            + (of.giant + of.sums + 0.1) * rotation
            + parts * stage.is_product * product
            for shared, rotation, product in zip(
                costs.shared_rotation, costs.rotation, costs.product, strict=True
            )
        ]
        functions = [products * product for product in costs.product]
        found.append(Task(stage.name, stage.sources, linear, functions, stage.levels, parts))
    return found


def compiled(
    title: str, network: Network, ranges: _Ranges,
    how: tuple[float, float, Any, int | None, int, Costs | None], batch: Floats, results: Floats,
) -> Model:  # fmt: skip
    """A network as a model, by what its values reach and what it makes of a batch; `how` are
    margin, error, set, rows, samples and costs of `compile`."""
    margin, error, given, rows, samples, costs = how
    program = Program(network, _made(title, network, ranges, margin, error))
    period = max(stage.place.period for stage in program.stages)
    costs, placed, works = _parameters(title, program, given, costs)
    set = costs.parameters
    period = min(period, set.slots)
    most = set.slots // period
    rows = most if rows is None else rows
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1 or rows & (rows - 1):
        raise errors.MismatchError(f"rows={rows!r}: it must be a power of two")
    if rows > most:
        why = f"rows={rows}: {most} inputs of {period} slots fit the {set.slots} of {set.name}"
        raise errors.MismatchError(why)
    rotations: dict[int, int] = {}
    for of, at in zip(works, placed, strict=True):
        for by in of.rotations:
            rotations[by * rows] = max(rotations.get(by * rows, 0), at.level)
    first, last = program.stages[0], program.stages[-1]
    ops = program.network.ops
    client = ClientPart(
        parameters=set,
        input_shape=ops[0].shape,
        output_shape=ops[-1].shape,
        rows=rows,
        slots=period * rows,
        input_range=first.bound,
        output_range=last.out,
        level=placed[0].result,
        key_level=max(max(at.function, at.level) for at in placed),
        rotations=dict(sorted(rotations.items())),
        bootstraps=any(at.before or at.after or at.refreshed for at in placed),
        input_place=first.place,
        output_place=last.place,
    )
    counts = [(of.diagonals, of.baby, of.giant, of.sums) for of in works]
    judged = batch[:_JUDGED].reshape(len(batch[:_JUDGED]), -1)
    plain = program.plain(judged).reshape(results[:_JUDGED].shape)
    off = np.abs(plain - results[:_JUDGED]).max()
    stored = (batch[:samples], results[:samples], plain[:samples]) if samples else None
    reach = float(np.abs(results).max())
    return Model(title, program, placed, client, counts, float(off), reach, costs, stored)
