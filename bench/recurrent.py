"""PyTorch's side of `totune bench lstm` and `totune bench crf` (see side.py); the case is `Layer` in
crates/bench/src/recurrent.

LSTMs are `torch.nn.LSTM`, over packed rows where they differ in length. The CRF is written with tensors over all rows and
pairs of tags, one step for each word, as it is usually done.
"""

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from side import CASE, Values, serve, synthetic, torch_version


class Crf:
    def __init__(self, transitions):
        self.transitions = transitions

    def log_likelihood(self, emissions, tags, mask):
        emitted = (emissions.gather(2, tags.unsqueeze(2)).squeeze(2) * mask).sum(1)
        moved = (self.transitions[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]).sum(1)
        alpha = emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            following = torch.logsumexp(alpha.unsqueeze(2) + self.transitions, 1) + emissions[:, t]
            alpha = torch.where(mask[:, t : t + 1] > 0, following, alpha)
        return emitted + moved - torch.logsumexp(alpha, 1)

    def decode(self, emissions, mask):
        seq = emissions.shape[1]
        score = emissions[:, 0]
        stay = torch.arange(score.shape[1]).expand_as(score)
        history = []
        for t in range(1, seq):
            best, before = (score.unsqueeze(2) + self.transitions).max(1)
            real = mask[:, t : t + 1] > 0
            score = torch.where(real, best + emissions[:, t], score)
            history.append(torch.where(real, before, stay))
        tag = score.argmax(1)
        paths = [tag]
        for before in reversed(history):
            tag = before.gather(1, tag.unsqueeze(1)).squeeze(1)
            paths.append(tag)
        paths = torch.stack(paths[::-1], 1).tolist()
        return [path[:n] for path, n in zip(paths, mask.sum(1).long().tolist())]


def lstm_step(case, train):
    lengths = case["lengths"]
    padded = len(set(lengths)) > 1
    model = torch.nn.LSTM(case["input"], case["hidden"], batch_first=True, bidirectional=case["bidirectional"])
    offset = 0
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(synthetic(weight.shape, offset, 0.1))
            offset += weight.numel()
    x = synthetic((len(lengths), max(lengths), case["input"]), 12345, 1.0)

    def states():
        if not padded:
            return model(x)[0]
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(model(packed)[0], batch_first=True)[0]

    if not train:

        def step():
            with torch.inference_mode():
                return [states().square().mean().item()]

        return step
    x.requires_grad_()
    values = Values()

    def step():
        loss = states().square().mean()
        value = loss.item()
        loss.backward()
        found = values.of(value, x, list(model.parameters()))
        x.grad = None
        model.zero_grad(set_to_none=True)
        return found

    return step


def crf_step(case, train):
    lengths, tags = torch.tensor(case["lengths"]), case["tags"]
    batch, seq = len(lengths), int(lengths.max())
    mask = (torch.arange(seq) < lengths.unsqueeze(1)).float()
    crf = Crf(synthetic((tags, tags), 0, 1.0))
    emissions = synthetic((batch, seq, tags), 12345, 1.0)
    if not train:

        def step():
            with torch.inference_mode():
                return crf.decode(emissions, mask)

        return step
    gold = (torch.arange(batch * seq) * 7 % tags).view(batch, seq)
    crf.transitions.requires_grad_()
    emissions.requires_grad_()
    values = Values()

    def step():
        loss = -crf.log_likelihood(emissions, gold, mask).mean()
        value = loss.item()
        loss.backward()
        found = values.of(value, emissions, [crf.transitions])
        emissions.grad = crf.transitions.grad = None
        return found

    return step


def values(last):
    """What sides are compared by; of paths a number that tells them apart."""
    if isinstance(last[0], list):
        return [sum((i + 1) * tag for path in last for i, tag in enumerate(path))]
    return last


torch.set_num_threads(CASE["threads"])
kind, mode = CASE["step"].split("-")
make = {"lstm": lstm_step, "crf": crf_step}[kind]
serve(torch_version(), make(CASE, mode in ("train", "loss")), values)
