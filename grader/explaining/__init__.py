"""Where a submission leaves the path of the handout's examples, from what it returns."""
