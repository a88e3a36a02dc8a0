"""Texts of workers: the one that most tokens agree on, or the one nearest to what they mean."""

from masquerade.truth.texts.embeddings import character_embedding, gleu
from masquerade.truth.texts.estimator import TextEstimator
from masquerade.truth.texts.rover import ROVER
from masquerade.truth.texts.sequences import HRRASA, RASA

__all__ = ["HRRASA", "RASA", "ROVER", "TextEstimator", "character_embedding", "gleu"]
