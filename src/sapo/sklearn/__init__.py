"""The estimator for scikit-learn, and the drop-in for sklearn-crfsuite. Works without scikit-learn, too."""
