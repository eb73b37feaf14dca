"""Watch the progress of a pipeline."""

from sapo.learn import Observer


class Watcher(Observer):
    """Watch a pipeline. This class does nothing; override the methods you need.

    >>> class Printer(Watcher):
    ...     def say(self, message):
    ...         print(message)
    >>> Printer().say("training pos")
    training pos
    """

    def say(self, message: str) -> None:
        """Called with a message when something is done."""

    def training(self, what: str) -> None:
        """Called before training; `what` is trained in the passes that follow."""

    def tagged(self, tokens: int) -> None:
        """Called with the number of tokens tagged so far."""
