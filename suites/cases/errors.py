"""The one error that a case id can raise."""


class CaseIdError(ValueError):
    """An id that names no case. The text is one line: the field, what was expected, the nearest valid thing."""
