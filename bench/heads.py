"""PyTorch's side of `totune bench heads` (see side.py); the case is `Layer` in crates/bench/src/recurrent.

BiMPM is written with tensors over all tokens, pairs of tokens and perspectives at once, its BiLSTMs are torch.nn.LSTM. The
highway LSTMs are loops over steps in Python with autograd, the products of the input for all steps at once, which is how
they are usually written: PyTorch has neither.
"""

import torch
from torch import nn
from torch.nn import functional as F

from side import CASE, Values, serve, synthetic, torch_version

PERSPECTIVES, LABELS, OUTPUT = 20, 2, {"bimpm": 200, "depth-gated": 768, "augmented": 768}
SCALE = 0.1


class SyntheticWeights:
    """Weights one after the other, in the order in which our side takes them."""

    def __init__(self):
        self.offset = 0

    def take(self, *shape):
        values = synthetic(shape, self.offset, SCALE)
        self.offset += values.numel()
        return nn.Parameter(values)

    def linear(self, n_in, n_out):
        return nn.ParameterList([self.take(n_out, n_in), self.take(n_out)])

    def lstm(self, n_in, hidden):
        layer = nn.LSTM(n_in, hidden, batch_first=True, bidirectional=True)
        with torch.no_grad():
            for weight in layer.parameters():
                weight.copy_(self.take(*weight.shape))
        return layer


def cosine(u, v, weight):
    """Of `weight * u` and `weight * v` under each perspective, [batch, seq, perspectives], by products with the squared
    weights, so that no tensor has all of tokens, perspectives and hidden units."""
    squared = (weight * weight).t()
    sizes = ((u * u) @ squared) * ((v * v) @ squared)
    return (u * v) @ squared / sizes.clamp_min(1e-16).sqrt()


class Bimpm(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        made = SyntheticWeights()
        self.context = made.lstm(width, hidden)
        ways = ("full", "pool", "attentive", "max_attentive")
        self.ways = nn.ModuleList(
            nn.ParameterDict({way: made.take(PERSPECTIVES, hidden) for way in ways}) for _ in range(2)
        )
        self.aggregation = made.lstm(8 * PERSPECTIVES, 100)
        self.hidden, self.output = made.linear(400, OUTPUT["bimpm"]), made.linear(OUTPUT["bimpm"], LABELS)

    def one(self, ways, x, other, end, cosines, pairs):
        best = other.gather(1, cosines.argmax(2, keepdim=True).expand(-1, -1, other.shape[2]))
        mean = cosines @ other / cosines.sum(2, keepdim=True)
        return torch.cat(
            [
                cosine(x, end.unsqueeze(1), ways["full"]),
                pairs.amax(3).transpose(1, 2),
                cosine(x, mean, ways["attentive"]),
                cosine(x, best, ways["max_attentive"]),
            ],
            2,
        )

    def forward(self, a, b):
        a, b = self.context(a)[0], self.context(b)[0]
        found_a, found_b = [], []
        for ways, x, y, end in zip(self.ways, a.chunk(2, 2), b.chunk(2, 2), (-1, 0)):
            cosines = F.normalize(x, dim=2) @ F.normalize(y, dim=2).transpose(1, 2)
            weight = ways["pool"].unsqueeze(1)  # [perspectives, 1, hidden]
            u, v = (F.normalize(side.unsqueeze(1) * weight, dim=3) for side in (x, y))
            pairs = u @ v.transpose(2, 3)  # [batch, perspectives, seq, seq]
            found_a.append(self.one(ways, x, y, y[:, end], cosines, pairs))
            found_b.append(self.one(ways, y, x, x[:, end], cosines.transpose(1, 2), pairs.transpose(2, 3)))
        vectors = []
        for found in (found_a, found_b):
            states = self.aggregation(torch.cat(found, 2))[0]
            vectors += [states[:, -1, :100], states[:, 0, 100:]]
        return F.linear(F.relu(F.linear(torch.cat(vectors, 1), *self.hidden)), *self.output)


class HighwayLstm(nn.Module):
    def __init__(self, width, hidden, kind):
        super().__init__()
        made, self.kind = SyntheticWeights(), kind
        self.cells = nn.ModuleList()
        for layer in range(2):
            memory = kind == "depth-gated" and layer > 0
            gates = (6, 5) if kind == "augmented" else (5 if memory else 4, 4)
            for _ in range(2):
                cell = nn.ModuleDict(
                    {"input": made.linear(width, gates[0] * hidden), "state": made.linear(hidden, gates[1] * hidden)}
                )
                if memory:
                    cell["peepholes"] = nn.ParameterList([made.take(1, hidden), made.take(1, hidden)])
                self.cells.append(cell)
            width = 2 * hidden
        self.hidden, self.output = made.linear(width, OUTPUT[kind]), made.linear(OUTPUT[kind], LABELS)

    def run(self, cell, x, below, reverse):
        read = F.linear(x, *cell["input"]).unbind(1)
        below = below.unbind(1) if below is not None else [None] * len(read)
        order = range(len(read))
        state = memory = torch.zeros(x.shape[0], cell["state"][0].shape[1])
        states, memories = [None] * len(read), [None] * len(read)
        n = cell["state"][0].shape[0]
        for t in reversed(order) if reverse else order:
            gates = torch.addmm(read[t][:, :n] + cell["state"][1], state, cell["state"][0].t())
            i, f, g, o = gates[:, : 4 * state.shape[1]].chunk(4, 1)
            following = f.sigmoid() * memory + i.sigmoid() * g.tanh()
            if "peepholes" in cell:
                own, over = cell["peepholes"]
                d = read[t][:, n:] + own * memory + over * below[t]
                following = following + d.sigmoid() * below[t]
            state = o.sigmoid() * following.tanh()
            if self.kind == "augmented":
                r, around = gates[:, n - state.shape[1] :].sigmoid(), read[t][:, n:]
                state = r * state + (1 - r) * around
            memory = following
            states[t], memories[t] = state, memory
        return torch.stack(states, 1), torch.stack(memories, 1)

    def forward(self, x, _):
        below = [None, None]
        for layer in range(2):
            both = [
                self.run(self.cells[2 * layer + k], x, below[k] if self.kind == "depth-gated" else None, k == 1)
                for k in range(2)
            ]
            x = torch.cat([states for states, _ in both], 2)
            below = [memories for _, memories in both]
        return F.linear(F.relu(F.linear(x.amax(1), *self.hidden)), *self.output)


def make_step(case):
    shape = (len(case["lengths"]), max(case["lengths"]), case["input"])
    a, b = synthetic(shape, 12345, 1.0), synthetic(shape, 54321, 1.0)
    if case["head"] == "bimpm":
        model = Bimpm(case["input"], case["hidden"])
    else:
        model = HighwayLstm(case["input"], case["hidden"], case["head"])
    if case["step"] == "head-scores":

        def scores():
            with torch.inference_mode():
                return [model(a, b).square().mean().item()]

        return scores
    a.requires_grad_()
    b.requires_grad_()
    values = Values()

    def train():
        loss = model(a, b).square().mean()
        value = loss.item()
        loss.backward()
        found = values.of(value, a, list(model.parameters()))
        a.grad = b.grad = None
        model.zero_grad(set_to_none=True)
        return found

    return train


torch.set_num_threads(CASE["threads"])
serve(torch_version(), make_step(CASE), list)
