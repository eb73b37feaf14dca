"""Turn text into integers: templates, ready-made features, vocabularies."""
