"""Read and write the annotations of other tools, by name."""

from sapo.corpus.exchange import brat, docbin, doccano, label_studio, prodigy
from sapo.corpus.exchange.format import DocumentFormat

TOOLS = {
    "doccano": DocumentFormat("doccano", doccano.read_documents, doccano.write_document),
    "prodigy": DocumentFormat("Prodigy", prodigy.read_documents, prodigy.write_document),
    "label-studio": DocumentFormat("Label Studio", label_studio.read_documents, label_studio.write_document),
    "brat": DocumentFormat("BRAT", brat.read_documents, brat.write_document),
    "spacy": DocumentFormat("spaCy", docbin.read_documents, docbin.write_document),
}


__all__ = ["TOOLS"]
