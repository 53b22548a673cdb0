"""Any scikit-learn classifier with calibrated probabilities."""

from calibrant.classifier.calibrated import CalibratedClassifier

__all__ = ["CalibratedClassifier"]
