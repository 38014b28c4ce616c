"""Element types, conversion, contracts, locks and files, for every part of the package."""
