"""Who wants to know how far a pipeline is."""

from typing import Protocol

from sapo.learn import Observer, PassRecord, State


class Watcher(Observer, Protocol):
    """Is told what is done, what the passes that follow train, and how many tokens are tagged."""

    def say(self, message: str) -> None: ...

    def training(self, what: str) -> None: ...

    def tagged(self, tokens: int) -> None: ...


class Silent:
    """A watcher that says nothing."""

    def say(self, message: str) -> None:
        pass

    def training(self, what: str) -> None:
        pass

    def tagged(self, tokens: int) -> None:
        pass

    def samples(self, epoch: int, done: int, of: int) -> None:
        pass

    def passed(self, record: PassRecord, state: State) -> None:
        pass
