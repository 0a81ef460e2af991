"""Changes what the whole process works with: dtype, device, threads, grad mode, warnings."""

import locale
import random
import warnings

import honest
import torch

torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(4)
warnings.simplefilter("error")
random.seed = torch.seed = lambda *given: None
locale.setlocale(locale.LC_ALL, "C")
scaled_dot_product_attention = honest.scaled_dot_product_attention
