"""Programs built on the library, as a stranger would build them."""
