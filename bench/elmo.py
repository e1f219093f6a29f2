"""PyTorch's side of `totune bench elmo` (see side.py); the case is `Layer` in crates/bench/src/recurrent.

PyTorch has no LSTM that clips, so its side is a loop over steps in Python with autograd, as in AllenNLP: the products of the
input and the bias for all steps at once, rows from long to short, and at each step those that have one.
"""

import torch

from side import CASE, Values, serve, synthetic, torch_version


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
    case = CASE
    torch.set_num_threads(case["threads"])
    width, cell, lengths = case["input"], case["hidden"], case["lengths"]
    running = [sum(n > t for n in lengths) for t in range(max(lengths))]
    weights, offset = [], 0
    for shape in [(4 * cell, width), (4 * cell,), (4 * cell, width), (width, cell)]:
        weights.append(synthetic(shape, offset, 0.1))
        offset += weights[-1].numel()
    x = synthetic((sum(running), width), 12345, 1.0)
    train = case["step"] == "elmo-train"
    for tensor in [x, *weights]:
        tensor.requires_grad_(train)
    values = Values()

    def step():
        with torch.inference_mode(not train):
            loss = lstm(x, weights, running, 3.0, 3.0).square().mean()
        value = loss.item()
        if not train:
            return [value]
        loss.backward()
        found = values.of(value, x, weights)
        for tensor in [x, *weights]:
            tensor.grad = None
        return found

    serve(torch_version(), step, list)


main()
