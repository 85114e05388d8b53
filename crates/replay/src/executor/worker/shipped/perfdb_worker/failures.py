"""Which kind of error an exception is."""

MEMORY_WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory",
                "failed to allocate", "allocation failed")
ENVIRONMENT_WORDS = ("npu not found", "not initialized", "not initialised", "driver", "libhccl", "libascend")


class Unsupported(Exception):
    """This backend cannot do the operator or the case."""


class Environment(Exception):
    """A missing library, operator, driver or device."""


class Rejected(Exception):
    """All alternatives of a call were refused."""


def kind_of(exception, resolving):
    """The error kind; `resolving` is true while the function is looked up, before the call."""
    text = str(exception).lower()
    if isinstance(exception, Unsupported):
        return "unsupported"
    if isinstance(exception, Environment):
        return "environment"
    if type(exception).__name__.endswith("OutOfMemoryError") or isinstance(exception, MemoryError):
        return "oom"
    if isinstance(exception, RuntimeError) and any(word in text for word in MEMORY_WORDS):
        return "oom"
    if resolving:
        missing = isinstance(exception, (ImportError, AttributeError, OSError))
        if missing or any(word in text for word in ENVIRONMENT_WORDS):
            return "environment"
    if isinstance(exception, (Rejected, ValueError, RuntimeError, TypeError, IndexError, AttributeError, ImportError)):
        return "rejected"
    return "internal"
