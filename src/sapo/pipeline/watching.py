"""Who wants to know how far a pipeline is."""

from sapo.learn import Observer


class Watcher(Observer):
    """Is told what a pipeline does. This one says nothing; override what you want to know."""

    def say(self, message: str) -> None:
        """Something was done."""

    def training(self, what: str) -> None:
        """The passes that follow train this."""

    def tagged(self, tokens: int) -> None:
        """So many tokens are tagged."""
