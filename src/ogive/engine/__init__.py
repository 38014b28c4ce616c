"""The one way from a graph of formulas to something that runs.

A front end translates its standard's graph and gets ufuncs, and places for what lies between them:

1. `computation`: what is computed for an element. `Formula` is an expression with element types; `Operator.computation`
   makes it of an operator. `Element` is one number, `Fused` several computations one after the other; `casting.cast`
   converts between types. A computation knows its size, its identity and its parameters without being lowered.
   `kernel_of` gives its kernel, which all computations of one identity share; `make_ufunc` a ufunc with values for the
   parameters.
2. `graph`: a `Graph` of `Node`s, each with its `Value`: an array of an element type that fills an iteration space, and
   perhaps is seen through a view. Nodes compute element by element, or are functions of whole arrays, of which the
   engine only needs to know what they read. `Constants` are what kernels may have in their code.
3. `fusion`: `fused(graph)` gives the `Island`s in order: the nodes of one kernel, its inputs, outputs, computation and
   parameters. `groups` has the rules by which nodes are grouped.
4. `schedule`: from `Task`s, which are calls in order, to the offsets of the temporary arrays in one `Workspace`, and to
   what is needed no more after which call.
5. `plan`: `make_plan(calls, fixed, inputs, results)` makes the native plan of `Call`s over named arrays. Every front end's
   calls end there.
6. `executable`: `plan_graph(description, inputs, results)` does all of this for a graph of known shapes.

The native plan (runtime/native/plan.c) then runs the calls without Python between them. Results have the same bits
however nodes are grouped: what is rounded between two nodes stays rounded.
"""
