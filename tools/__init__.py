"""The programs that developers run on a checkout. Nothing of it is installed."""
