"""Array types of the whole package: an alias a kind of element.

Annotations say what an array holds; its axes are named in comments where it is first used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Positions in a short list, of options, tasks or workers: half the memory of `Integers`.
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
