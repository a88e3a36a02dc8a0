"""A soak: thousands of people take part while processes, databases and clocks fail under them."""
