"""One side of `totune bench elmo`: PyTorch doing the same step.

Started with a JSON object (see `Case` in crates/cli/src/bench/recurrent) as its only argument. For each line `N` on
standard input it runs N steps and prints {"seconds": [...]}; at the end of input it prints {"peak_memory": bytes,
"result": number}.

PyTorch has no LSTM that clips, so its side is a loop over steps in Python with autograd, as in AllenNLP: the products of the
input and the bias for all steps at once, rows from long to short, and at each step those that have one.
"""

import json
import resource
import sys
import time

import torch


def made_up(shape, offset, scale):
    """As in crates/cli/src/bench/recurrent/worker.rs."""
    n = torch.Size(shape).numel()
    parts = ((torch.arange(n, dtype=torch.float64) + offset) * 0.6180339887498949).frac()
    return ((parts * 2 - 1) * scale).float().view(shape)


def lstm(x, weights, running, cell_clip, out_clip):
    """Packed rows [rows, width] to the outputs of all steps."""
    w_input, bias, w_state, w_projection = weights
    products = torch.nn.functional.linear(x, w_input, bias)
    outputs, h, c = [], None, None
    for step in products.split(running):
        if h is not None:
            step = torch.addmm(step, h[: len(step)], w_state.t())
        i, f, g, o = step.chunk(4, 1)
        new = i.sigmoid() * g.tanh()
        c = (new if c is None else new + f.sigmoid() * c[: len(step)]).clamp(-cell_clip, cell_clip)
        h = ((o.sigmoid() * c.tanh()) @ w_projection.t()).clamp(-out_clip, out_clip)
        outputs.append(h)
    return torch.cat(outputs)


def main():
    case = json.loads(sys.argv[1])
    torch.set_num_threads(case["threads"])
    width, cell, lengths = case["input"], case["hidden"], case["lengths"]
    running = [sum(n > t for n in lengths) for t in range(max(lengths))]
    weights, offset = [], 0
    for shape in [(4 * cell, width), (4 * cell,), (4 * cell, width), (width, cell)]:
        weights.append(made_up(shape, offset, 0.1))
        offset += weights[-1].numel()
    x = made_up((sum(running), width), 12345, 1.0)
    train = case["step"] == "elmo-train"
    for tensor in [x, *weights]:
        tensor.requires_grad_(train)

    def step():
        with torch.inference_mode(not train):
            loss = lstm(x, weights, running, 3.0, 3.0).square().mean()
        value = loss.item()
        if train:
            loss.backward()
            assert x.grad is not None
            for tensor in [x, *weights]:
                tensor.grad = None
        return value

    print(json.dumps({"version": f"torch {torch.__version__}"}), flush=True)
    result = 0.0
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            result = step()
            seconds.append(time.perf_counter() - start)
        print(json.dumps({"seconds": seconds}), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"peak_memory": peak, "result": result}), flush=True)


main()
