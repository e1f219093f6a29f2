"""One side of `totune bench lstm` and `totune bench crf`: PyTorch doing the same step.

Started with a JSON object (see `Case` in crates/cli/src/bench/recurrent) as its only argument. For each line `N` on
standard input it runs N steps and prints {"seconds": [...]}; at the end of input it prints {"peak_memory": bytes,
"result": number}.

LSTMs are `torch.nn.LSTM`, over packed rows where they differ in length. The conditional random field is written with
tensors over all rows and pairs of tags, one step for each word, as it is usually done.
"""

import json
import resource
import sys
import time

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def made_up(shape, offset, scale):
    """As in crates/cli/src/bench/recurrent/worker.rs."""
    n = torch.Size(shape).numel()
    parts = ((torch.arange(n, dtype=torch.float64) + offset) * 0.6180339887498949).frac()
    return ((parts * 2 - 1) * scale).float().view(shape)


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
            weight.copy_(made_up(weight.shape, offset, 0.1))
            offset += weight.numel()
    x = made_up((len(lengths), max(lengths), case["input"]), 12345, 1.0)

    def states():
        if not padded:
            return model(x)[0]
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(model(packed)[0], batch_first=True)[0]

    if not train:

        def step():
            with torch.inference_mode():
                return states().square().mean().item()

        return step
    x.requires_grad_()

    def step():
        loss = states().square().mean()
        value = loss.item()
        loss.backward()
        assert x.grad is not None
        x.grad = None
        model.zero_grad(set_to_none=True)
        return value

    return step


def crf_step(case, train):
    lengths, tags = torch.tensor(case["lengths"]), case["tags"]
    batch, seq = len(lengths), int(lengths.max())
    mask = (torch.arange(seq) < lengths.unsqueeze(1)).float()
    crf = Crf(made_up((tags, tags), 0, 1.0))
    emissions = made_up((batch, seq, tags), 12345, 1.0)
    if not train:

        def step():
            with torch.inference_mode():
                paths = crf.decode(emissions, mask)
            return paths

        return step
    gold = (torch.arange(batch * seq) * 7 % tags).view(batch, seq)
    crf.transitions.requires_grad_()
    emissions.requires_grad_()

    def step():
        loss = -crf.log_likelihood(emissions, gold, mask).mean()
        value = loss.item()
        loss.backward()
        assert emissions.grad is not None
        emissions.grad = crf.transitions.grad = None
        return value

    return step


def main():
    case = json.loads(sys.argv[1])
    torch.set_num_threads(case["threads"])
    kind, mode = case["step"].split("-")
    make = {"lstm": lstm_step, "crf": crf_step}[kind]
    step = make(case, mode in ("train", "loss"))
    print(json.dumps({"version": f"torch {torch.__version__}"}), flush=True)
    result = 0.0
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            result = step()
            seconds.append(time.perf_counter() - start)
        print(json.dumps({"seconds": seconds}), flush=True)
    if mode == "decode":
        # A number that tells paths apart.
        result = sum((i + 1) * tag for path in result for i, tag in enumerate(path))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"peak_memory": peak, "result": result}), flush=True)


main()
