"""The peers that Ogive is measured against: how each writes an operator, and how it is asked to compute one.

They are no dependencies: one is imported when it is asked for.
"""
