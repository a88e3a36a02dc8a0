"""Wang et al. (2019): private social preferences."""
