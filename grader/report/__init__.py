"""The report model, its schema, and how it is shown. Imports nothing else of the package."""
