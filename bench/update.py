"""PyTorch's side of `totune bench update` (see side.py): AdamW's update of all weights of a classifier, always by the same gradients.
The case is `Update` in crates/bench/src/update.rs.
"""

import torch
from transformers import BertForSequenceClassification

from side import CASE, bert_config, serve, torch_version

torch.set_num_threads(CASE["threads"])
torch.manual_seed(1)
model = BertForSequenceClassification(bert_config(CASE["shape"]))
for parameter in model.parameters():
    parameter.grad = torch.randn_like(parameter) * 1e-3
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01, fused=True)

serve(torch_version(), optimizer.step)
