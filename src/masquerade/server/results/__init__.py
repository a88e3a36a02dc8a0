"""Results of closed surveys: computed once, cached, and laid out for pages."""
