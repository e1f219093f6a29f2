"""PyTorch's side of `totune bench update` (see side.py): AdamW's update of all weights of a classifier, always by the same gradients.
The case is `Update` in crates/bench/src/update.rs.
"""

import torch
from transformers import BertConfig, BertForSequenceClassification

from side import CASE, serve, torch_version

shape = CASE["shape"]
torch.set_num_threads(CASE["threads"])
torch.manual_seed(1)
config = BertConfig(
    vocab_size=shape["vocab"],
    hidden_size=shape["hidden"],
    num_hidden_layers=shape["layers"],
    num_attention_heads=shape["heads"],
    intermediate_size=shape["intermediate"],
    num_labels=2,
)
model = BertForSequenceClassification(config)
for parameter in model.parameters():
    parameter.grad = torch.randn_like(parameter) * 1e-3
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01, fused=True)


serve(torch_version(), optimizer.step)
