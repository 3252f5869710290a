"""What memory and tensors share: places, parts, and how much of it there may be."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._steps import Body, Values
from ._text import VALUE, Operation, Type, malformed

Array = NDArray[Any]

#: Offsets, sizes and strides behind the name of what is cut.
PART = r"\s?\[([^\]]*)\] \[([^\]]*)\] \[([^\]]*)\] : .+"


def filled(type: Type, value: Any = None) -> Array:
    """An array of one value; without it, what is read before it is written is no number."""
    shape = type.shape or ()
    array: Array = np.full(shape, np.nan) if type.is_float else np.full(shape, None, object)
    if value is not None:
        # One by one: ciphertexts are no sequences of NumPy's.
        for place in np.ndindex(shape):
            array[place] = value
    return array


def inside(values: Values, places: tuple[str, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The place of these coordinates in an array of this shape."""
    index = tuple([values[i] for i in places])
    if len(index) != len(shape) or any(not 0 <= i < n for i, n in zip(index, shape, strict=True)):
        raise IndexError(f"the place {list(index)} of memory of shape {list(shape)}")
    return index


class Part:
    """A part of an array: offsets, sizes and strides, each known or the name of a value."""

    def __init__(self, body: Body, op: Operation, texts: tuple[str, ...]) -> None:
        self._parts: list[list[str | int]] = []
        for text in texts:
            words = [word.strip() for word in text.split(",")] if text.strip() else []
            body.use(op, ",".join(word for word in words if word.startswith("%")))
            if not all(re.fullmatch(rf"\d+|{VALUE}", word) for word in words):
                raise malformed(op.line, f"{op.name} with [{text}]")
            self._parts.append([w if w.startswith("%") else int(w) for w in words])

    def of(self, values: Values, shape: tuple[int, ...]) -> tuple[slice, ...]:
        """The part of an array of this shape, in slices."""
        offsets, sizes, strides = (
            [values[word] if isinstance(word, str) else word for word in words]
            for words in self._parts
        )
        found = []
        for offset, size, stride, most in zip(offsets, sizes, strides, shape, strict=True):
            end = offset + max(size - 1, 0) * stride + (size > 0)
            if min(offset, size, stride - 1) < 0 or end > most:
                raise IndexError(f"{size} elements from {offset} by {stride}, of {most}")
            found.append(slice(offset, end, stride))
        return tuple(found)


def shaped(array: Array, shape: tuple[int, ...]) -> Array:
    """The array in this shape, which has dimensions of one element more or less. Sizes of -1 are
    what the array has."""
    known = len(shape) == array.ndim and all(w in (-1, n) for w, n in zip(shape, array.shape))
    try:
        view = array if known else array.reshape(shape)
    except ValueError:
        view = None
    if view is None or [n for n in view.shape if n != 1] != [n for n in array.shape if n != 1]:
        raise ValueError(f"a part of shape {list(array.shape)} as {list(shape)}")
    return view
