"""What crosses between processes, and how much of it. Imports nothing else of the package."""
