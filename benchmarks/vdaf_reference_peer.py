"""The draft's own reference on responses of so many bits; run by two_parties.py.

    PYTHON vdaf_reference_peer.py BITS CHUNK RUNS

PYTHON is one that can import `vdaf_poc`: Python 3.12 with pycryptodomex, and the folder `poc` of
https://github.com/cfrg/draft-irtf-cfrg-vdaf in its PYTHONPATH. It prints the least processor time
in milliseconds, as JSON, for splitting a response and for both parties' checks together. The
circuit is Prio3SumVec with that many bits: the same range checks as a survey's, without its linear
ones.
"""

import json
import os
import sys
import time

from vdaf_poc.vdaf_prio3 import Prio3SumVec


def main() -> None:
    bits, chunk, runs = map(int, sys.argv[1:])
    vdaf = Prio3SumVec(2, bits, 1, chunk)
    context, key = b"benchmark", os.urandom(vdaf.VERIFY_KEY_SIZE)
    measurement = [place % 2 for place in range(bits)]
    split = checked = float("inf")
    for _ in range(runs):
        nonce, rand = os.urandom(vdaf.NONCE_SIZE), os.urandom(vdaf.RAND_SIZE)
        start = time.process_time()
        public, shares = vdaf.shard(context, measurement, nonce, rand)
        middle = time.process_time()
        begun = [
            vdaf.verify_init(key, context, party, None, nonce, public, share)
            for party, share in enumerate(shares)
        ]
        message = vdaf.verifier_shares_to_message(context, None, [share for _, share in begun])
        out = [vdaf.verify_next(context, state, message) for state, _ in begun]
        checked = min(checked, time.process_time() - middle)
        split = min(split, middle - start)
        sums = [vdaf.agg_update(None, vdaf.agg_init(None), one) for one in out]
        assert vdaf.unshard(None, sums, 1) == measurement
    print(json.dumps({"split": 1000 * split, "checked": 1000 * checked}))


if __name__ == "__main__":
    main()
