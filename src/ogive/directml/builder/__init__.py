"""Graphs in Python: expressions of the operators, on top of the objects of DirectML.h.

    vocabulary  what the functions are called and take, from the data
    tensors     tensor descs and data types in Python's spelling
    expression  a tensor in a graph, and the operators of Python on it
    functions   one function for each operator, and views of tensors
    graph       inputs, constants, and the way to a DML_GRAPH_DESC
    compiled    what a graph is compiled to, called with arrays
    buffers     arrays that have been converted, and which conversions are safe

Nothing here computes or checks what the objects below do: a function makes a desc and has the device create
its operator, so that what DirectML refuses is refused where it is written.
"""
