"""PyTorch's side of the sweep of `totune bench cache` (see side.py): PyTorch + transformers training the same classifiers without
a cache. The case is `Peer` in crates/bench/src/cache/sweep.rs.

A step is the sweep: of each strategy an epoch and an evaluation of dev are timed and multiplied by how often they come.
"""

import json
import os
import time

import torch
from transformers import AutoModel, BertConfig, BertModel, __version__
from transformers.utils import logging

from side import CASE, Seconds, serve

logging.set_verbosity_error()
logging.disable_progress_bar()

DROPOUT = 0.1


def open_encoder(folder):
    """Without the pooler: it is not read, so it is not computed."""
    if os.path.exists(os.path.join(folder, "config.json")):
        return AutoModel.from_pretrained(folder, attn_implementation="sdpa", add_pooling_layer=False)
    # A fixture has no configuration; for tiny cases any BERT of about its size will do.
    config = BertConfig(hidden_size=32, num_hidden_layers=4, num_attention_heads=2, intermediate_size=64)
    return BertModel(config, add_pooling_layer=False)


class Classifier(torch.nn.Module):
    """An encoder, mean pooling, a linear layer."""

    def __init__(self, folder, labels):
        super().__init__()
        self.encoder = open_encoder(folder)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, labels)

    def forward(self, inputs):
        states = self.encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
        pooled = (states * mask).sum(1) / mask.sum(1)
        return self.head(torch.nn.functional.dropout(pooled, DROPOUT, self.training))


def freeze(model, k):
    """Leaves the top k layers and the head trainable; the frozen layers have no dropout either."""
    layers = model.encoder.encoder.layer
    trainable = list(layers[len(layers) - k :]) + [model.head]
    model.requires_grad_(False)
    for part in trainable:
        part.requires_grad_(True)

    def train(on):
        model.eval()
        if on:
            model.training = True
            for part in trainable:
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


class Strategy:
    """A model whose top `k` layers are trainable."""

    def __init__(self, rows, k):
        self.rows = rows
        self.model = Classifier(CASE["encoder"], rows["labels"])
        self.train = freeze(self.model, k)
        self.trainable = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trainable, lr=CASE["lr"], weight_decay=0.01, fused=True)

    def step(self, batch):
        inputs, labels = collate(self.rows["train"], batch)
        loss = torch.nn.functional.cross_entropy(self.model(inputs), labels)
        loss.item()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trainable, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def score(self):
        self.train(False)
        dev, right = self.rows["dev"], 0
        with torch.inference_mode():
            for at in range(0, len(dev), CASE["evaluation_batch"]):
                inputs, labels = collate(dev, range(at, min(at + CASE["evaluation_batch"], len(dev))))
                right += (self.model(inputs).argmax(1) == labels).sum().item()
        return right / len(dev)

    def epoch(self):
        """Seconds of an epoch and an evaluation."""
        self.train(True)
        for batch in self.rows["batches"][:2]:
            self.step(batch)  # warm-up
        start = time.perf_counter()
        for batch in self.rows["batches"]:
            self.step(batch)
        self.score()
        return time.perf_counter() - start


torch.set_num_threads(CASE["threads"])
torch.manual_seed(1)
with open(CASE["rows"], encoding="utf-8") as file:
    ROWS = json.load(file)
STRATEGIES = [Strategy(ROWS, k) for k in CASE["strategies"]]
serve(
    f"torch {torch.__version__}, transformers {__version__}",
    lambda: Seconds(CASE["times"] * sum(strategy.epoch() for strategy in STRATEGIES)),
)
