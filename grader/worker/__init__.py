"""The process beside hostile code. Whatever it says is only a claim."""
