"""What girih raises. Every message names what is wrong and what would be right."""


class Error(Exception):
    """Anything that girih refuses."""


class MismatchError(Error, ValueError):
    """Things that do not fit each other: shapes, keys, sets, kinds of messages, names."""


class MalformedError(Error, ValueError):
    """Bytes that do not hold what they should."""


class ParameterError(Error, ValueError):
    """A parameter set with an impossible value."""


class UnknownSetError(ParameterError):
    """No parameter set of that name."""


class TooNoisyError(Error, ValueError):
    """An operation that would go wrong more often than is allowed."""


class OutOfLevelsError(Error, ValueError):
    """A CKKS ciphertext with too few levels for an operation."""


class ApproximationError(Error, ValueError):
    """A function that no polynomial within reach approximates well enough."""


class CircuitError(Error, ValueError):
    """A netlist, a program or a design that is no circuit of gates."""


class MissingKeyError(Error, LookupError):
    """An operation whose evaluation key was not made."""


class UnsupportedError(Error):
    """What a set, a device or what is installed here cannot do."""


class NoServerError(Error, RuntimeError):
    """An operator outside of ``with server:``."""


class DeviceError(Error, RuntimeError):
    """A device that failed."""


class NoDeviceError(DeviceError):
    """No such device, or its driver is missing."""


class OutOfMemoryError(DeviceError, MemoryError):
    """Memory of the host or of a device ran out."""


class WorkerLostError(Error, RuntimeError):
    """A worker of a cluster that was lost too often, or that never came."""


class EntropyError(Error, RuntimeError):
    """The operating system gave no randomness."""


class SecretKeyError(Error, TypeError):
    """An attempt to pickle or copy a secret key."""


class PickleError(Error, TypeError):
    """An attempt to pickle what belongs to a device of this process."""


class ForkError(Error, RuntimeError):
    """Work in a process that was forked from one that had used girih."""


class InternalError(Error, RuntimeError):
    """A fault in girih itself."""


__all__ = [
    "ApproximationError",
    "CircuitError",
    "DeviceError",
    "EntropyError",
    "Error",
    "ForkError",
    "InternalError",
    "MalformedError",
    "MismatchError",
    "MissingKeyError",
    "NoDeviceError",
    "NoServerError",
    "OutOfLevelsError",
    "OutOfMemoryError",
    "ParameterError",
    "PickleError",
    "SecretKeyError",
    "TooNoisyError",
    "UnknownSetError",
    "UnsupportedError",
    "WorkerLostError",
]
