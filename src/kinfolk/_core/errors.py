"""Errors that the caller can do something about."""


class KinfolkError(Exception):
    """Base of every error that kinfolk raises on purpose; its text is one sentence for a person.

    >>> KinfolkError.exit_code
    2
    """

    __module__ = "kinfolk"
    exit_code = 2  # of the command line: the input or the call is wrong


class InputError(KinfolkError, ValueError):
    """A file, an array or an argument is not what was expected."""

    __module__ = "kinfolk"


class DiskFullError(KinfolkError, OSError):
    """There is no space left for an output; what was there before is untouched."""

    __module__ = "kinfolk"
    exit_code = 1  # nothing was wrong with the call


class MissingExtraError(KinfolkError, ImportError):
    """An optional package is not installed.

    >>> str(MissingExtraError("parquet", "pyarrow"))
    'this needs the optional package pyarrow: pip install "kinfolk[parquet]"'
    """

    __module__ = "kinfolk"

    def __init__(self, extra: str, package: str) -> None:
        """Name the extra that brings `package`."""
        super().__init__(f'this needs the optional package {package}: pip install "kinfolk[{extra}]"')
