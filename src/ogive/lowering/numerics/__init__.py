"""Numbers with more bits than a format has: double-word arithmetic, intervals, rounding, the elementary functions."""
