"""PyTorch's side of `totune bench operators` (see side.py): the operators of the training step of transformer.py, recorded by the
observer that records ours, which is compiled here as a library of its own.
"""

import collections
import ctypes
import os
import pathlib
import subprocess
import tempfile

import torch

from side import CASE, serve
from transformer import prepared

SOURCE = pathlib.Path(__file__).parent.parent / "crates/model/src/fused/observer/observer.cpp"
EACH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int)


def compiled(folder):
    """The observer, linked with the LibTorch of this Python."""
    torch_folder = pathlib.Path(torch.__file__).parent
    library = f"{folder}/observer.so"
    command = [os.environ.get("CXX", "c++"), "-shared", "-fPIC", "-std=c++17", f"-I{torch_folder}/include", str(SOURCE)]
    command += [f"-L{torch_folder}/lib", "-ltorch_cpu", "-lc10", "-o", library]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(library)
    library.totune_observe.restype = ctypes.c_char_p
    library.totune_observed.restype = ctypes.c_char_p
    return library


def main():
    with tempfile.TemporaryDirectory() as folder:
        observer = compiled(folder)
    versions, step = prepared(CASE)
    operators = {}

    def checked(message):
        if message is not None:
            raise RuntimeError(message.decode())

    def observed():
        checked(observer.totune_observe())
        step()
        calls = collections.defaultdict(lambda: {"all": 0, "outermost": 0, "innermost": 0})

        @EACH
        def each(_, name, outermost, innermost, _flattens):
            count = calls[name.decode()]
            count["all"] += 1
            count["outermost"] += outermost
            count["innermost"] += innermost

        checked(observer.totune_observed(None, each))
        operators.clear()
        operators.update(calls)

    serve(versions, observed, more=lambda: {"operators": operators})


main()
