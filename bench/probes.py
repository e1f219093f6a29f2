"""Python's side of `totune bench probes` (see side.py): scikit-learn's regressions and EDGE on the matrices of all layers. The
case is `Case` in crates/bench/src/probes/matrices.rs; the values are a score of each layer.

EDGE is our own program of its definition (fixtures/make/edge.py), with scikit-learn's search for neighbours.
"""

import os
import sys
import warnings
from pathlib import Path

from side import CASE, serve

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


versions = f"scikit-learn {sklearn.__version__}, scipy {scipy.__version__}, numpy {numpy.__version__}"
with joblib.Parallel(n_jobs=CASE["threads"], prefer="threads") as pool:
    if CASE["layers_at_once"]:
        serve(versions, lambda: side_by_side(pool), list)
    else:
        with threadpool_limits(1 if CASE["threads"] == 1 else None):
            serve(versions, lambda: [layer(i) for i in range(CASE["layers"])], list)
