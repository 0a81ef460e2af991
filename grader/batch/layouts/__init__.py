"""How platforms lay out what students handed in. Each module of this folder is one layout.

A module has ``TITLE``, ``ORDER`` and ``find``; ``grader.batch.class_folder.Layout`` describes them.
``grade batch --layout`` calls it by the module's name.
"""
