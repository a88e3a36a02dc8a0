"""Kandappu et al. (2014), Loki: selection of participants."""
