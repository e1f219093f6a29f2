"""One side of `totune bench probes`: scikit-learn's regressions and EDGE in Python on the matrices of all layers.

Started with a JSON object (see `Case` in crates/cli/src/bench/probes/matrices.rs) as its only argument. For each line `N`
on standard input it goes over all layers N times and prints {"seconds": [...]}; at the end of input it prints
{"peak_memory": bytes, "scores": one number for each layer}.

EDGE is our own program of its definition (fixtures/make/edge.py), with scikit-learn's search for neighbours.
"""

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

CASE = json.loads(sys.argv[1])
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fixtures" / "make"))

import edge
import joblib
import numpy
import scipy
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression
from threadpoolctl import threadpool_limits

warnings.filterwarnings("ignore")  # that a search ended at its last step is known


def read(name, dtype):
    return numpy.fromfile(os.path.join(CASE["folder"], name), dtype=dtype)


TRAIN = read("train.f32", numpy.float32).reshape(CASE["layers"], -1, CASE["columns"])
TEST = read("test.f32", numpy.float32).reshape(CASE["layers"], -1, CASE["columns"])
TRAIN_GOLD, TEST_GOLD = (read(f"{split}.gold", numpy.float64) for split in ("train", "test"))
if CASE["what"] == "edge":
    TEST = TEST.astype(numpy.float64)


def layer(i):
    """The score of one layer."""
    if CASE["what"] == "edge":
        return edge.estimate(TEST[i], TEST_GOLD)[0]
    if CASE["what"] == "linear":
        predicted = LinearRegression().fit(TRAIN[i].astype(numpy.float64), TRAIN_GOLD).predict(TEST[i])
        return float(numpy.corrcoef(predicted, TEST_GOLD)[0, 1])
    predicted = LogisticRegression().fit(TRAIN[i], TRAIN_GOLD).predict(TEST[i])
    return float(numpy.mean(predicted == TEST_GOLD))


def side_by_side(pool):
    with threadpool_limits(1):
        return pool(joblib.delayed(layer)(i) for i in range(CASE["layers"]))


def say(value):
    print(json.dumps(value), flush=True)


def main():
    versions = f"scikit-learn {sklearn.__version__}, scipy {scipy.__version__}, numpy {numpy.__version__}"
    say({"version": versions})
    scores = []
    with joblib.Parallel(n_jobs=CASE["threads"], prefer="threads") as pool:
        for line in sys.stdin:
            seconds = []
            for _ in range(int(line)):
                start = time.perf_counter()
                if CASE["layers_at_once"]:
                    scores = side_by_side(pool)
                else:
                    scores = [layer(i) for i in range(CASE["layers"])]
                seconds.append(time.perf_counter() - start)
            say({"seconds": seconds})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    say({"peak_memory": peak, "scores": scores})


if __name__ == "__main__":
    main()
