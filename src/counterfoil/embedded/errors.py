"""What can be wrong with a server of our own: one line that says what to do."""


class EmbeddedError(Exception):
    """The embedded server cannot be had. The message says why, and what to do."""
