"""Trained models on encrypted data, in the manner of scikit-learn.

Models stay in the clear, where they compute; data and predictions are encrypted. They are made of
fitted estimators of scikit-learn, or of anything with the same attributes: scikit-learn itself is
not needed. What a model encrypts and what it computes says what it is, and ``model.decrypt`` reads
it as that.
"""

from ._linear import LinearRegression, LogisticRegression
from ._rows import KINDS, Rows
from ._tree import DecisionTree

__all__ = ["KINDS", "DecisionTree", "LinearRegression", "LogisticRegression", "Rows"]
