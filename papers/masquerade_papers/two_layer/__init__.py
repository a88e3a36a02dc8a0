"""Li et al. (2018): one-layer and two-layer randomized response."""
