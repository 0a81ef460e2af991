"""How platforms lay out what students handed in: one module each, found by being here.

A module has ``TITLE``, ``ORDER`` and ``find``, as ``grader.batch.class_folder.Layout`` says. Its own name
is what ``grade batch --layout`` calls it.
"""
