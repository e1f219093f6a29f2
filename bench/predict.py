"""transformers' side of `totune bench predict` (see side.py): a text-classification pipeline over the rows of a csv file, whose
probabilities go into another one. The case is `Predicting` in crates/bench/src/predict.rs.
"""

import csv
import time

import torch
import transformers
from transformers import pipeline

from side import CASE, serve

# As `COMPARED` in crates/bench/src/predict.rs.
COMPARED = 200
BATCHES = [1, 4, 8, 16, 32, 64]
# Rows by which the batch is chosen.
TRIED = 128


def read():
    with open(CASE["file"], encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def answers(pipe, rows, batch):
    """Of each row the probability of each label, as the pipeline gives them, in the order of the file."""
    order = range(len(rows))
    if CASE["sorted"]:
        # By characters, since a row gets its tokens in the pipeline.
        order = sorted(order, key=lambda at: len(rows[at]["text"]))
    texts = (rows[at]["text"] for at in order)
    found = pipe(texts, batch_size=batch, truncation=True, max_length=CASE["max_length"], top_k=None)
    answers = [None] * len(rows)
    for at, labels in zip(order, found, strict=True):
        answers[at] = {answer["label"]: answer["score"] for answer in labels}
    return answers


def fastest(pipe):
    """The batch that takes the first rows through the pipeline soonest."""
    # They have all lengths; `answers` sorts them where it sorts the file.
    rows = read()[:TRIED]
    seconds = dict.fromkeys(BATCHES, float("inf"))
    # Several rounds, so that a moment of noise decides nothing.
    for _ in range(3):
        for batch in BATCHES:
            start = time.perf_counter()
            answers(pipe, rows, batch)
            seconds[batch] = min(seconds[batch], time.perf_counter() - start)
    return min(seconds, key=seconds.get)


def main():
    torch.set_num_threads(CASE["threads"])
    transformers.logging.set_verbosity_error()
    pipe = pipeline("text-classification", CASE["model"], device="cpu")
    batch = CASE["batch"] or fastest(pipe)
    labels = [pipe.model.config.id2label[i] for i in range(pipe.model.config.num_labels)]

    def step():
        rows = read()
        found = answers(pipe, rows, batch)
        with open(CASE["file"] + ".pipeline", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*rows[0], "predicted", *(f"p_{label}" for label in labels)])
            for row, answer in zip(rows, found, strict=True):
                scores = [answer[label] for label in labels]
                writer.writerow([*row.values(), max(answer, key=answer.get), *scores])
        return [answer[labels[-1]] for answer in found[:COMPARED]]

    serve(f"transformers {transformers.__version__}, batch {batch}", step, lambda last: last)


if __name__ == "__main__":
    main()
