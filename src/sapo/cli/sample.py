"""sapo sample: write the bundled sample as files."""

from pathlib import Path

import click

from sapo.cli.options import quiet_option, tell
from sapo.errors import SapoError


@click.command("sample")
@click.argument("directory", type=click.Path(path_type=Path))
@quiet_option
def sample_command(directory: Path, quiet: bool) -> None:
    """Write the bundled sample as files.

    sapo sample data

    520 English sentences to try the examples of the documentation with. Writes train.txt, dev.txt, test.txt and new.txt
    (words, parts of speech and chunks), the same as CoNLL-U (train.conllu ...), entities (ner-train.txt ...), entities
    in JSONL as text with spans (ner-train.jsonl ...), and text.txt. No file is overwritten.
    """
    from sapo.corpus.files import write_file
    from sapo.corpus.sample import sample_files

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SapoError(f"{directory}: cannot create this directory ({error.strerror or error})") from None
    files = sample_files()
    for name in files:
        if (directory / name).exists():
            raise SapoError(f"{directory / name}: already exists; give another directory")
    for name, text in files.items():
        with write_file(directory / name) as stream:
            stream.write(text.encode())
    if not quiet:
        tell(f"wrote {len(files)} files to {directory}: {', '.join(files)}")
