"""Where the student's code runs. Imports nothing else of the package: it can be read alone."""
