"""PyTorch's side of `totune bench pretrain` (see side.py): the same step of pre-training a bidirectional language model, from the
same text. The case is `BilmStep` in crates/bench/src/pretrain.rs.

Written as one would in PyTorch: words are embedded once for each distinct one of a batch by a convolution over their fifty
characters, each direction is torch.nn.LSTM with a projection (which has no clipping of cells; nothing reaches the clips in the
first steps), and the sampled softmax is a product with the rows of the samples. Batches have no padding, since all segments
are of the same length.
"""

from collections import Counter

import torch
from torch import nn
from torch.nn import functional

from side import CASE, serve, torch_version


def spell(word):
    inside = list(word.encode())[:48] if isinstance(word, str) else [word]
    ids = [258, *inside, 259]
    return ids + [260] * (50 - len(ids))


class Bilm(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.case, wide, width = case, sum(n for _, n in case["filters"]), case["projection"]
        self.characters = nn.Embedding(261, 16)
        nn.init.uniform_(self.characters.weight, -1, 1)
        self.filters = nn.ModuleList([nn.Conv1d(16, n, w) for w, n in case["filters"]])
        self.highway = nn.ModuleList([nn.ModuleList([nn.Linear(wide, wide), nn.Linear(wide, wide)]) for _ in range(case["highway"])])
        self.projection = nn.Linear(wide, width)
        lstm = lambda: nn.LSTM(width, case["cell"], proj_size=width)
        self.lstms = nn.ModuleList([nn.ModuleList([lstm() for _ in range(case["layers"])]) for _ in range(2)])
        self.softmax = nn.Linear(width, case["vocab"])
        nn.init.normal_(self.softmax.weight, std=width**-0.5)

    def embed(self, ids):
        x = self.characters(ids).transpose(1, 2)
        x = torch.cat([conv(x).amax(2) for conv in self.filters], 1).relu()
        for transform, carry in self.highway:
            c = carry(x).sigmoid()
            x = c * x + (1 - c) * transform(x).relu()
        return self.projection(x)

    def forward(self, distinct, places, targets, samples):
        words = self.embed(distinct)  # the last two are the boundary tokens
        losses = []
        for direction in range(2):
            x = words[places[direction]]  # [steps, segments, width]
            for i, lstm in enumerate(self.lstms[direction]):
                x = functional.dropout(x, self.case["dropout"])
                out = lstm(x)[0]
                x = out + x if i else out
            x = functional.dropout(x, self.case["dropout"]).flatten(0, 1)
            losses.append(self.loss(x, targets[direction].flatten(), samples))
        return (losses[0] + losses[1]) / 2

    def loss(self, x, target, samples):
        if samples is None:
            return functional.cross_entropy(self.softmax(x), target)
        ids, expected = samples
        weight, bias = self.softmax.weight, self.softmax.bias
        own = (x * weight[target]).sum(1) + bias[target] - expected[target]
        others = functional.linear(x, weight[ids], bias[ids] - expected[ids])
        others = others.masked_fill(target[:, None] == ids, -1e30)
        logits = torch.cat([own[:, None], others], 1)
        return functional.cross_entropy(logits.float(), torch.zeros_like(target))


def sample(p, n):
    """`n` different ids of a log-uniform distribution, and the logarithms of the expected counts of all."""
    seen, tries = torch.zeros(len(p), dtype=torch.bool), 0
    while seen.sum() < n:
        seen[torch.multinomial(p, n, replacement=True)] = True
        tries += n
    ids = seen.nonzero().squeeze(1)[torch.randperm(int(seen.sum()))[:n]]
    return ids, torch.log(-torch.expm1(tries * torch.log1p(-p)))


class Steps:
    def __init__(self, case):
        self.case, self.taken = case, 0
        with open(case["text"], encoding="utf-8") as file:
            self.words = file.read().split()
        counts = sorted(Counter(self.words).items(), key=lambda pair: (-pair[1], pair[0]))
        self.ids = {word: 3 + i for i, (word, _) in enumerate(counts[: case["vocab"] - 3])}
        self.model = Bilm(case)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.0, fused=True)
        k = torch.arange(case["vocab"], dtype=torch.float64)
        self.p = (torch.log((k + 2) / (k + 1)) / torch.log(torch.tensor(case["vocab"] + 1.0))).float()

    def batch(self):
        """Characters of the distinct words, and for each direction what is read and what is predicted."""
        segments = self.case["segments"]
        size = segments * self.case["length"]
        first = self.taken * size % (len(self.words) // size * size)
        chunk = self.words[first : first + size]
        number = {}
        places = torch.tensor([number.setdefault(word, len(number)) for word in chunk]).view(segments, -1).t()
        target = torch.tensor([self.ids.get(word, 2) for word in chunk]).view(segments, -1).t()
        distinct = torch.tensor([spell(word) for word in [*number, 256, 257]])
        row = lambda value: torch.full((1, segments), value)
        n = len(number)
        reads = [torch.cat([row(n), places]), torch.cat([row(n + 1), places.flip(0)])]
        return distinct, reads, [torch.cat([target, row(0)]), torch.cat([target.flip(0), row(1)])]

    def step(self):
        distinct, reads, targets = self.batch()
        self.taken += 1
        samples = sample(self.p, self.case["samples"])
        with torch.autocast("cpu", torch.bfloat16, enabled=self.case["dtype"] == "bf16-mixed"):
            loss = self.model(distinct, reads, targets, samples)
        value = loss.item()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return value


torch.set_num_threads(CASE["threads"])
torch.manual_seed(1)
serve(torch_version(), Steps(CASE).step)
