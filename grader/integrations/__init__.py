"""Other people's systems, from the inside: each folder extends one."""
