"""Many submissions: recognised, graded on every core, resumed, and put into tables. No torch."""
