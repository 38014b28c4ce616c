"""The last level: intervals that enclose results, with as many bits as the rounding wants."""
