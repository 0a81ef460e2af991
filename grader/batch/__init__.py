"""Many submissions: recognising, grading on every core, resuming, and making tables. No torch."""
