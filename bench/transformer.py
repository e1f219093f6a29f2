"""PyTorch's side of `totune bench peer`, `gpu`, `peft`, `bf16` and `pretrain` (see side.py; operators.py counts the same steps): PyTorch + transformers taking the same training
step, or the same inference. The case is `Step` in crates/bench/src/transformer/mod.rs.
"""

import itertools
import json

import torch
from transformers import BertForMaskedLM, BertForSequenceClassification, __version__

from side import CASE, bert_config, named, serve

# One token in so many is predicted in masked language modelling, as `Step::MASKED` in crates/bench/src/transformer/mod.rs.
MASKED = 7
# Losses that are compared, as `COMPARED` in crates/bench/src/transformer/steps.rs.
COMPARED = 3


def synthetic(case):
    """A batch without padding, and its labels."""
    shape = (case["batch"], case["seq"])
    words = case["shape"]["vocab"] - 1000
    ids = 1000 + torch.arange(shape[0] * shape[1]).view(shape) * 7919 % words
    inputs = {
        "input_ids": ids,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": torch.ones_like(ids),
    }
    if case["head"] == "masked-lm":
        return inputs, ids.flatten()[::MASKED]
    return inputs, torch.arange(case["batch"]) % 2


def read(path):
    """The batches of a file (see `Row` in crates/bench/src/batches.rs), padded to the longest row of each."""
    with open(path, encoding="utf-8") as file:
        batches = json.load(file)

    def padded(rows, key):
        tensors = [torch.tensor(row[key]) for row in rows]
        return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True)

    def batch(rows):
        ids = padded(rows, "ids")
        lengths = torch.tensor([len(row["ids"]) for row in rows])
        mask = (torch.arange(ids.shape[1]) < lengths.unsqueeze(1)).long()
        inputs = {"input_ids": ids, "token_type_ids": padded(rows, "types"), "attention_mask": mask}
        return inputs, torch.tensor([row["label"] for row in rows])

    return [batch(rows) for rows in batches]


def partly_trained(model, trained):
    """The model with few trained parameters, as `partly_trained` in crates/bench/src/transformer/network.rs."""
    if trained == "lora":
        from peft import LoraConfig, get_peft_model

        updates = LoraConfig(r=8, lora_alpha=8, lora_dropout=0.0, target_modules=["query", "value"])
        updates.modules_to_save = ["classifier"]
        return get_peft_model(model, updates)
    for name, parameter in model.named_parameters():
        of_layer = ".encoder." in name and name.endswith(".bias")
        parameter.requires_grad = of_layer or name.startswith("classifier.")
    return model


def prepared(case):
    """The versions of what takes the steps, and a function that takes one."""
    shape = case["shape"]
    place = case.get("device", "cpu")
    device = torch.device(place if place.startswith("cuda") else "cpu")
    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    config = bert_config(
        shape,
        hidden_dropout_prob=case["dropout"],
        attention_probs_dropout_prob=case["dropout"] if case["attention_dropout"] is None else case["attention_dropout"],
    )
    config._attn_implementation = "sdpa"
    masked = case["head"] == "masked-lm"
    model = BertForMaskedLM(config) if masked else BertForSequenceClassification(config)
    if not masked:
        named(model)
    if case["recomputed"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if case["trained"] != "all":
        model = partly_trained(model, case["trained"])
    model = model.to(device)
    run = torch.compile(model) if case.get("compiled") else model

    def forward(inputs):
        """Logits; in masked language modelling those of the masked tokens alone, as on our side."""
        if not masked:
            return run(**inputs).logits
        states = model.bert(**inputs).last_hidden_state.flatten(0, 1)
        return model.cls(states[::MASKED])

    assert model.config._attn_implementation == "sdpa"

    def moved(batch):
        inputs, labels = batch
        return {name: tensor.to(device) for name, tensor in inputs.items()}, labels.to(device)

    # Gone through in turn, one for each step.
    batches = read(case["batches"]) if case["batches"] else [synthetic(case)]
    batches = itertools.cycle([moved(batch) for batch in batches])
    autocast = torch.autocast(device.type, dtype=torch.bfloat16, enabled=case["dtype"] == "bf16-mixed")

    # What sides are compared by: the losses of the first steps, or the logits of the first one.
    first = []
    if case["mode"] == "inference":
        model.eval()

        def step():
            inputs, _ = next(batches)
            with torch.inference_mode(), autocast:
                logits = forward(inputs)
                logits.argmax(1).sum().item()
            if not first:
                first.extend(logits.flatten().tolist())
            return first
    else:
        model.train()
        fused = {"fused": True} if case["optimizer"] == "fused" else {}
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=1e-5, weight_decay=0.01, **fused)

        def step():
            inputs, labels = next(batches)
            with autocast:
                logits = forward(inputs)
                loss = torch.nn.functional.cross_entropy(logits, labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            value = loss.item()
            if len(first) < COMPARED:
                first.append(value)
            if device.type == "cuda":
                torch.cuda.synchronize(device)  # else the next step would pay for this one
            return first

    versions = f"torch {torch.__version__}, transformers {__version__}"
    if device.type == "cuda":
        versions += f", {torch.cuda.get_device_name(device)}"
    if case["trained"] == "lora":
        from peft import __version__ as of_peft

        versions += f", peft {of_peft}"
    return versions, step


if __name__ == "__main__":
    serve(*prepared(CASE), list)
