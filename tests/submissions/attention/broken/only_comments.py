"""Nothing but words."""

# TODO: attention
