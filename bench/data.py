"""Python's side of `totune bench data` (see side.py): Hugging Face `datasets` + fast `tokenizers` reading and tokenising the same
file, each time into a new cache folder. The case is `Reading` in crates/bench/src/data.rs; the values are the number of ids
and the sum of those in rows that were not truncated.
"""

import os
import tempfile
import time

from side import CASE, Seconds, serve

THREADS = CASE["threads"]
os.environ["RAYON_NUM_THREADS"] = str(THREADS)
# With processes of its own, `map` takes one thread in each.
os.environ["TOKENIZERS_PARALLELISM"] = "false" if THREADS == 1 or CASE["processes"] else "true"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"

import datasets
import numpy
import pyarrow
import tokenizers

pyarrow.set_cpu_count(THREADS)
datasets.disable_progress_bars()


def open_tokenizer():
    folder = CASE["vocabulary"]
    full = os.path.join(folder, "tokenizer.json")
    if os.path.exists(full):
        tokenizer = tokenizers.Tokenizer.from_file(full)
    else:
        bare = tokenizers.BertWordPieceTokenizer(os.path.join(folder, "vocab.txt"), lowercase=True)
        tokenizer = bare._tokenizer
    tokenizer.no_padding()
    tokenizer.enable_truncation(CASE["max_length"], strategy="longest_first")
    return tokenizer


TOKENIZER = open_tokenizer()


def encode(batch):
    # The variant without offsets, which is the fastest one.
    rows = TOKENIZER.encode_batch_fast(list(zip(batch["sentence1"], batch["sentence2"])))
    return {"input_ids": [row.ids for row in rows], "token_type_ids": [row.type_ids for row in rows]}


def run():
    with tempfile.TemporaryDirectory(dir=CASE["scratch"]) as cache:
        start = time.perf_counter()
        rows = datasets.load_dataset(
            "csv",
            data_files=CASE["file"],
            split="train",
            cache_dir=cache,
            delimiter="\t",
            quoting=3,
            usecols=["sentence1", "sentence2", "gold_label"],
            keep_default_na=False,
        )
        features = datasets.Features(
            {
                **rows.features,
                "input_ids": datasets.List(datasets.Value("int32")),
                "token_type_ids": datasets.List(datasets.Value("int8")),
            }
        )
        rows = rows.map(
            encode, batched=True, features=features, num_proc=THREADS if CASE["processes"] and THREADS > 1 else None
        )
        seconds = Seconds(time.perf_counter() - start)
        seconds.values = check(rows)
        return seconds


def check(rows):
    """The number of ids, and the sum of those in rows that were not truncated."""
    column = rows.data.column("input_ids").combine_chunks()
    if isinstance(column, pyarrow.ChunkedArray):
        column = pyarrow.concat_arrays(column.chunks)
    offsets = column.offsets.to_numpy()
    ids = column.values.to_numpy(zero_copy_only=False).astype(numpy.int64)
    sums = numpy.concatenate([[0], numpy.cumsum(ids)])
    lengths = offsets[1:] - offsets[:-1]
    kept = lengths < CASE["max_length"]
    total = (sums[offsets[1:]] - sums[offsets[:-1]])[kept].sum()
    return int(offsets[-1] - offsets[0]), int(total)


if __name__ == "__main__":
    # Processes of `map` work at the same time.
    serve(
        f"datasets {datasets.__version__}, tokenizers {tokenizers.__version__}",
        run,
        lambda last: list(last.values),
        THREADS if CASE["processes"] else 1,
    )
