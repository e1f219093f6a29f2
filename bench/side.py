"""What the Python halves of `totune bench` share: the other end of crates/bench/src/side.rs.

A script is started with its case as JSON. It says {"version": …} when it is ready, answers each line `N` on standard input
with the seconds of N steps, and at the end of input says {"peak_memory": bytes, "values": […]}, and more where there is more.
"""

import json
import resource
import sys
import time

CASE = json.loads(sys.argv[1])


class Seconds(float):
    """What a step returns that measured its own time."""


def say(value):
    print(json.dumps(value), flush=True)


def serve(version, step, values=lambda last: [], processes=1, more=dict):
    """Takes steps when asked. `values` makes what sides are compared by from what the last step returned; `processes` of
    children work at the same time; `more` makes the rest of the last message."""
    say({"version": version})
    last = None
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            last = step()
            took = time.perf_counter() - start
            seconds.append(float(last) if isinstance(last, Seconds) else took)
        say({"seconds": seconds})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if processes > 1:
        peak += processes * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    say({"peak_memory": peak * 1024, "values": values(last) if last is not None else [], **more()})


def synthetic(shape, offset, scale):
    """As `synthetic` in crates/bench/src/synthetic.rs."""
    import torch

    n = torch.Size(shape).numel()
    # The factors of crates/bench/src/synthetic.rs; 32 bits are kept of each product.
    x = (torch.arange(n) + offset) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    parts = (x ^ (x >> 16)).double() / 2**32
    return ((parts * 2 - 1) * scale).float().view(shape)


class Values:
    """What sides of training are compared by, as in crates/bench/src/recurrent/squares.rs: the loss, and of the first step the
    sums of squares of the gradients of input and weights."""

    def __init__(self):
        self.squares = None

    def of(self, loss, x, weights):
        if self.squares is None:
            both = [x], weights
            self.squares = [sum(float(tensor.grad.square().sum()) for tensor in tensors) for tensors in both]
        return [loss, *self.squares]


def named(model):
    """Gives `model` the weights that our side has, as `NamedWeights` in crates/bench/src/synthetic.rs makes them."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            name, offset = name.removeprefix("bert."), 0
            for byte in name.encode():
                offset = (offset * 31 + byte) % 1_000_003
            parameter.copy_(synthetic(parameter.shape, offset, 0.05) + name.endswith("LayerNorm.weight"))


def bert_config(shape, **more):
    """transformers' configuration of a BERT with two labels of a shape (`Shape` in crates/bench/src/shape.rs)."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=shape["vocab"],
        hidden_size=shape["hidden"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        intermediate_size=shape["intermediate"],
        num_labels=2,
        **more,
    )


def torch_version():
    import torch

    return f"torch {torch.__version__}"
