"""The one exception a user sees: a mistake that can be mended, told in one line."""


class SapoError(Exception):
    """Says place, rule, value and the way out.

    >>> raise SapoError("train.txt:812: expected 3 columns, found 2 ('London JJ')")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: train.txt:812: expected 3 columns, found 2 ('London JJ')
    """
