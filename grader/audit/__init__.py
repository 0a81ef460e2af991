"""Measures suites: is every known fault caught, does every right answer get full marks?"""
