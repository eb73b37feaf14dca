"""Share models on the Hugging Face hub: a repository holds `model.sapo` and a model card made from its record.

Needs `huggingface_hub`, the extra `hub`. What is downloaded is data: it is checked as every model file is.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapo.errors import ModelError, OptionError, pip_install
from sapo.tagger.model import Model

if TYPE_CHECKING:
    from sapo.tagger.tagger import Tagger

FILE = "model.sapo"
CARD = "README.md"
LABELS = 30  # that a card lists


def from_pretrained(name: str, *, revision: str | None = None) -> "Tagger":
    """Load a tagger from a repository of the hub, or from a directory with such files."""
    from sapo.tagger.tagger import Tagger

    if Path(name).is_dir():
        return Tagger.load(Path(name) / FILE)
    hub = load_hub()
    try:
        path = hub.hf_hub_download(name, FILE, revision=revision)
    except (OSError, ValueError, hub.errors.HfHubHTTPError) as error:
        raise ModelError(f"{name}: cannot be loaded from the hub ({_one_line(error)})") from None
    return Tagger.load(path)


def push_to_hub(tagger: "Tagger", name: str, *, private: bool = False, message: str = "Upload a model of sapo") -> str:
    """Upload a model and its card to a repository of the hub, which is made if there is none; return its address."""
    hub = load_hub()
    with tempfile.TemporaryDirectory() as directory:
        save_pretrained(tagger, directory, name)
        try:
            hub.create_repo(name, private=private, exist_ok=True)
            done = hub.upload_folder(repo_id=name, folder_path=directory, commit_message=message)
        except (OSError, ValueError, hub.errors.HfHubHTTPError) as error:
            raise ModelError(f"{name}: cannot be uploaded to the hub ({_one_line(error)})") from None
    return str(done)


def save_pretrained(tagger: "Tagger", directory: str | Path, name: str = "NAME/OF-THIS-REPOSITORY") -> None:
    """Write what a repository of this name holds into a directory."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    tagger.save(Path(directory) / FILE)
    (Path(directory) / CARD).write_text(model_card(tagger.model, name), "utf-8")


def model_card(model: Model, name: str) -> str:
    """Return a model card: what the model is, how it was trained, and how to use it.

    >>> import sapo
    >>> card = model_card(sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2).model, "me/weather")
    >>> card.splitlines()[:4]
    ['---', 'library_name: sapo', 'pipeline_tag: token-classification', 'tags:']
    """
    record, labels = model.record, model.outer_labels
    more = [f"... ({len(labels)} in all)"] if len(labels) > LABELS else []
    rows: list[tuple[str, Any]] = [
        ("labels", ", ".join([*labels[:LABELS], *more])),
        ("learner", record.get("learner")),
        ("template", record.get("template")),
        ("training sentences", _number(record.get("sentences"))),
        ("training tokens", _number(record.get("tokens"))),
        ("epochs", record.get("passes")),
        ("columns", ", ".join(model.encoder.columns)),
        ("probabilities", "calibrated" if model.calibrated else "not calibrated"),
    ]
    kept = record.get("kept_pass")
    dev = [one.get("dev") for one in record.get("history", ()) if one.get("epoch") == kept]
    if dev and dev[0] is not None:
        rows.append((f"{record.get('score_name', 'score')} on the dev set", f"{100 * dev[0]:.2f}"))
    table = "\n".join(f"| {key} | {_cell(value)} |" for key, value in rows if value not in (None, ""))
    return f"""---
library_name: sapo
pipeline_tag: token-classification
tags:
- sapo
- token-classification
---

# {name.rpartition("/")[2]}

A tagger made with sapo: one file without code. To use it: {pip_install("hub")}.

| | |
|---|---|
{table}

```python
import sapo

tagger = sapo.Tagger.from_pretrained("{name}")
tagger.tag(["a", "list", "of", "tokens"])
```
"""


def load_hub() -> Any:
    """Return the module huggingface_hub. Raise SapoError if it is not installed."""
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ImportError:
        raise OptionError(f"the hub needs huggingface_hub: {pip_install('hub')}") from None
    return huggingface_hub


def _number(value: Any) -> str | None:
    return f"{value:,}" if isinstance(value, int) else None


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _one_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
