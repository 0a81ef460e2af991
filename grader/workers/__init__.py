"""The trusted side's hold on workers: how they are started, given files, and ended."""
