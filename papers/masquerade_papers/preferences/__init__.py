"""Wang et al. (2019): private social preferences, and the mechanisms that they published.

Loading it lets texts name ``local-laplace`` (their Algorithm 2) and the functional mechanisms
(``local-functional`` is their Algorithm 3), for which the package has better ones.
"""

from masquerade_papers.preferences.functional import (
    AggregateFunctional,
    CentralFunctional,
    LocalFunctional,
)
from masquerade_papers.preferences.local_laplace import LocalLaplace

__all__ = ["AggregateFunctional", "CentralFunctional", "LocalFunctional", "LocalLaplace"]
