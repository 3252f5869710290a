"""What NumPy's functions do with ciphertexts.

NumPy would take a ciphertext for one object: ``np.mean`` would return it as it is. Functions that
have a meaning are computed by the ciphertexts' own operators and methods; all others are refused.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import ckks, integer, rows

#: Functions that only move entries: of those of indices, they say which entry goes where.
_MOVES: tuple[Callable[..., Any], ...] = (
    np.broadcast_to,
    np.diagonal,
    np.expand_dims,
    np.flip,
    np.fliplr,
    np.flipud,
    np.moveaxis,
    np.ravel,
    np.repeat,
    np.reshape,
    np.roll,
    np.rot90,
    np.squeeze,
    np.swapaxes,
    np.take,
    np.tile,
    np.transpose,
)


def _moved(function: Callable[..., Any], x: Any, *arguments: Any, **keywords: Any) -> Any:
    """The entries of `x` where the function moves them."""
    if isinstance(x, ckks.Ciphertexts):
        return _moved_vectors(function, x, *arguments, **keywords)
    places = np.arange(x.size).reshape(x.shape)
    return x.reshape(-1)[function(places, *arguments, **keywords)]


def _moved_vectors(function: Callable[..., Any], x: Any, *arguments: Any, **keywords: Any) -> Any:
    """Whole vectors are moved, or the slots of all of them rotated."""
    places = np.arange(x.size).reshape(x.shape)
    to = function(places, *arguments, **keywords)
    slots = x.slots
    if to.ndim and to.shape[-1] == slots:
        vectors, within = to // slots, to % slots
        by = int(within.flat[0])
        rotated = (np.arange(slots) + by) % slots
        if (vectors == vectors[..., :1]).all() and (within == rotated).all():
            flat = x if x.ndim == 1 else x.reshape(-1, slots)
            if x.ndim == 1 and to.ndim == 1:
                moved = flat
            else:
                moved = flat.reshape(-1, slots)[vectors[..., 0]]
            return moved if by == 0 else moved.rotate(by)
    raise TypeError(
        f"numpy.{function.__name__} moves slots as no rotation does: x.transform(map) with a "
        "girih.ckks.LinearMap does it for a level"
    )


def _last(x: Any, axis: Any) -> None:
    """Refuses sums over anything but the slots of each vector."""
    if axis not in (-1, x.ndim - 1) and not (axis is None and x.ndim == 1):
        raise TypeError(
            f"axis {axis} of vectors of shape {x.shape}: sums are over slots, axis=-1; x[0] + x[1] "
            "adds vectors"
        )


def _sum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    if isinstance(x, integer.Ciphertexts):
        return x.sum(axis, dtype)
    if not isinstance(x, ckks.Ciphertexts) or dtype is not None:
        return NotImplemented
    _last(x, axis)
    return x.sum()


def _mean(x: Any, axis: Any = None) -> Any:
    if not isinstance(x, ckks.Ciphertexts):
        return NotImplemented
    _last(x, axis)
    return x.mean()


def _where(condition: Any, on: Any, off: Any) -> Any:
    if isinstance(condition, integer.Ciphertexts):
        return condition.select(on, off)
    if isinstance(on, integer.Ciphertexts) or isinstance(off, integer.Ciphertexts):
        raise TypeError(
            "numpy.where chooses by a known condition: index by it, or encrypt it and take "
            "condition.select(on, off)"
        )
    return NotImplemented


def _concatenate(arrays: Any, axis: int = 0) -> Any:
    if axis != 0:
        raise TypeError(f"ciphertexts are joined along their first axis, not along {axis}")
    return rows.join(list(arrays))


def _stack(arrays: Any, axis: int = 0) -> Any:
    if axis != 0:
        raise TypeError(f"ciphertexts are stacked along a new first axis, not along {axis}")
    return rows.stack(list(arrays))


def _dot(a: Any, b: Any) -> Any:
    if isinstance(a, ckks.Ciphertexts) and isinstance(b, ckks.Ciphertexts):
        raise TypeError("numpy.dot of two encrypted vectors: (x * y).sum() is in every slot")
    if isinstance(a, ckks.Ciphertexts) or isinstance(b, ckks.Ciphertexts):
        return a @ b
    return NotImplemented


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    if not isinstance(x, integer.Ciphertexts):
        return NotImplemented
    x = x if low is None else x.maximum(low)
    return x if high is None else x.minimum(high)


_KNOWN: dict[Callable[..., Any], Callable[..., Any]] = {
    np.clip: _clip,
    np.concatenate: _concatenate,
    np.dot: _dot,
    np.mean: _mean,
    np.ndim: lambda x: x.ndim,
    np.shape: lambda x: x.shape,
    np.size: lambda x: x.size,
    np.stack: _stack,
    np.sum: _sum,
    np.where: _where,
}


def dispatch(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """The function's value, by the methods of ciphertexts."""
    name = getattr(function, "__name__", str(function))
    result = NotImplemented
    if function in _KNOWN:
        result = _KNOWN[function](*arguments, **keywords)
    elif function in _MOVES and arguments:
        result = _moved(function, *arguments, **keywords)
    if result is NotImplemented:
        kinds = {type(a) for a in arguments if type(a).__module__.startswith("girih")}
        names = ", ".join(sorted(f"{k.__module__}.{k.__name__}" for k in kinds)) or "ciphertexts"
        raise TypeError(
            f"numpy.{name} has no meaning for {names}: they have operators and methods of their own"
        )
    return result
