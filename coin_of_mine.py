
from fractions import Fraction
import numpy as np

class Coin:
    claimed_epsilon = "1.0987"
    inputs = (0, 1)
    def sample(self, answer, size, rng):
        return np.where(rng.random(size) < 0.75, answer, 1 - answer)
    def distribution(self, answer):
        return {one: Fraction(3 if one == answer else 1, 4) for one in self.inputs}
