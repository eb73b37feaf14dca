"""The scikit-learn estimator, and the drop-in replacement for sklearn-crfsuite. scikit-learn itself is optional."""
