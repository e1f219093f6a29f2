"""One side of `totune bench cache`: PyTorch + transformers training the same classifier without a cache.

Started with a JSON object (see `Case` in crates/cli/src/bench/cache/sweep.rs) as its only argument. For each line `N`
on standard input it takes N training steps, going round the batches of an epoch, and prints {"seconds": [...]}; at the
end of input it scores dev and prints {"scoring": seconds, "peak_memory": bytes}.
"""

import json
import resource
import sys
import time

import torch
from transformers import AutoModel, __version__
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()

DROPOUT = 0.1


class Classifier(torch.nn.Module):
    """An encoder, the mean of its states, a linear layer."""

    def __init__(self, folder, labels):
        super().__init__()
        # The pooler is not read, so it is not computed.
        self.encoder = AutoModel.from_pretrained(folder, attn_implementation="sdpa", add_pooling_layer=False)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, labels)

    def forward(self, inputs):
        states = self.encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
        pooled = (states * mask).sum(1) / mask.sum(1)
        return self.head(torch.nn.functional.dropout(pooled, DROPOUT, self.training))


def freeze(model, k):
    """Leaves the top k layers and the head moving; what is fixed does not drop out either."""
    layers = model.encoder.encoder.layer
    moving = list(layers[len(layers) - k :]) + [model.head]
    model.requires_grad_(False)
    for part in moving:
        part.requires_grad_(True)

    def train(on):
        model.eval()
        if on:
            model.training = True
            for part in moving:
                part.train()

    return train


def collate(rows, batch):
    """What DataCollatorWithPadding makes: everything padded to the longest row."""
    rows = [rows[i] for i in batch]
    shape = (len(rows), max(len(row["ids"]) for row in rows))
    ids, types, mask = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    for i, row in enumerate(rows):
        n = len(row["ids"])
        ids[i, :n] = torch.tensor(row["ids"])
        types[i, :n] = torch.tensor(row["types"])
        mask[i, :n] = 1
    inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}
    return inputs, torch.tensor([row["label"] for row in rows])


def main():
    case = json.loads(sys.argv[1])
    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    with open(case["rows"], encoding="utf-8") as file:
        rows = json.load(file)
    model = Classifier(case["encoder"], rows["labels"])
    train = freeze(model, case["k"])
    moving = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(moving, lr=case["lr"], weight_decay=0.01, fused=True)
    batches = rows[case["order"]]

    def step(batch):
        inputs, labels = collate(rows["train"], batch)
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.item()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(moving, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def score():
        train(False)
        right = 0
        with torch.inference_mode():
            for at in range(0, len(rows["dev"]), case["evaluation_batch"]):
                batch = range(at, min(at + case["evaluation_batch"], len(rows["dev"])))
                inputs, labels = collate(rows["dev"], batch)
                right += (model(inputs).argmax(1) == labels).sum().item()
        return right / len(rows["dev"])

    train(True)
    print(json.dumps({"version": f"torch {torch.__version__}, transformers {__version__}"}), flush=True)
    taken = 0
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step(batches[taken % len(batches)])
            seconds.append(time.perf_counter() - start)
            taken += 1
        print(json.dumps({"seconds": seconds}), flush=True)
    start = time.perf_counter()
    accuracy = score()
    scoring = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"scoring": scoring, "accuracy": accuracy, "peak_memory": peak}), flush=True)


main()
