"""Formats are loaded when they are used."""

from sapo.corpus.formats import DOCUMENTS, FORMATS


def test_every_format_can_be_loaded_and_has_three_functions() -> None:
    for name in FORMATS:
        assert all(
            callable(getattr(FORMATS[name], function)) for function in ("read_blocks", "write", "write_sentence")
        )
    assert len(FORMATS) == len(list(FORMATS))
    assert set(DOCUMENTS) < set(FORMATS)
    assert "nothing" not in FORMATS
