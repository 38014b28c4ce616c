"""Functions of whole arrays that move elements and change none, for every front end.

views   reshape, transpose, slice and the like: NumPy's views where there are such
copies  joining, repeating, choosing and ordering elements, and running sums
limits  what an array can be at most
"""
