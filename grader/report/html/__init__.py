"""Reports as pages: each one file that loads nothing, light or dark, on a screen or on paper."""
