"""Says at import that it defines tens of thousands of names nearly like the export."""

import wire
from honest import scaled_dot_product_attention

NAMES = [f"scaled_dot_product_attentio{number}" for number in range(24_000)]
wire.send({"is": "Loaded", "exports": {}, "defined": NAMES})
wire.end()
