"""Students' own tests of a component, and how many faults they catch."""
