"""Sun et al. (2018): sparse numeric answers under local privacy."""
