"""Operators as C text in the C++ that torch's inductor writes: compiled programs call them without Python.

inductor writes a call of a C function for an operator that its option ``aot_inductor.custom_ops_to_c_shims`` lists, and puts the
function's declaration into the same file. Here the declaration is followed by the function itself: the text that ``ogive.export``
writes, which computes the bits of the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import torch

from ogive.errors import ArgumentError, DTypeError, described, message
from ogive.exporting.c_source import source_text
from ogive.exporting.interface import Interface
from ogive.exporting.sources import source_of_operator
from ogive.operators.operator import Operator
from ogive.operators.signature import Parameter
from ogive.torch.exchange import ELEMENT_TYPE_OF
from ogive.torch.registry import entries, entry
from ogive.torch.tensor_functions import TensorFunction
from ogive.torch.tensor_operator import TensorOperator

#: inductor compiles without signed zeros, and GCC without vector loops.
BEFORE = """\
#if defined(__clang__)
#pragma float_control(precise, on, push)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("signed-zeros", "no-unsafe-math-optimizations", "tree-loop-vectorize")
#endif
#define restrict __restrict
"""
AFTER = """\
#undef restrict
#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
"""

#: The parts that all functions share: memory for results as torch lays them out, and loops over operands that broadcast.
RUN = """\
#ifndef OGIVE_RUN
#define OGIVE_RUN
typedef void (*ogive_loop)(char *const *data, const int64_t *steps, size_t n, const double *numbers);

static AOTITorchError ogive_run(const AtenTensorHandle *in, int inputs, AtenTensorHandle *const *out, int outputs,
                                int64_t size, ogive_loop loop, const double *numbers) {
    int64_t shape[64], steps[16][64], *found, dims[16], most = 0, total = 1;
    char *data[16];
    int32_t dtype;
    if (aoti_torch_get_dtype(in[0], &dtype)) {
        return AOTI_TORCH_FAILURE;
    }
    for (int k = 0; k < inputs; k++) {
        if (aoti_torch_get_dim(in[k], &dims[k]) || dims[k] > 64) {
            return AOTI_TORCH_FAILURE;
        }
        most = dims[k] > most ? dims[k] : most;
    }
    for (int64_t d = 0; d < most; d++) {
        shape[d] = 1;
    }
    for (int k = 0; k < inputs; k++) {
        if (aoti_torch_get_sizes(in[k], &found)) {
            return AOTI_TORCH_FAILURE;
        }
        for (int64_t d = 0; d < dims[k]; d++) {
            int64_t *length = &shape[most - dims[k] + d];
            if (found[d] != 1 && *length != 1 && found[d] != *length) {
                return AOTI_TORCH_FAILURE;
            }
            *length = found[d] != 1 ? found[d] : *length;
        }
    }
    for (int64_t d = 0; d < most; d++) {
        total *= shape[d];
    }
    int like = -1; /* the first operand of the result's shape: the result lies as it does */
    for (int k = 0; k < inputs; k++) {
        int64_t *own, *sizes;
        void *memory;
        if (aoti_torch_get_strides(in[k], &own) || aoti_torch_get_sizes(in[k], &sizes) ||
            aoti_torch_get_data_ptr(in[k], &memory)) {
            return AOTI_TORCH_FAILURE;
        }
        int is_whole = dims[k] == most;
        for (int64_t d = 0; d < most; d++) {
            const int64_t from = d - (most - dims[k]);
            steps[k][d] = from < 0 || sizes[from] == 1 ? 0 : own[from] * size;
            is_whole = is_whole && sizes[d] == shape[d];
        }
        like = like < 0 && is_whole ? k : like;
        data[k] = (char *)memory;
    }
    int64_t dense[64], step = 1, is_flat = 1;
    for (int64_t d = most - 1; d >= 0; d--) {
        dense[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    for (int64_t d = 0; like >= 0 && d < most; d++) {
        is_flat = is_flat && (shape[d] == 1 || steps[like][d] == dense[d] * size);
    }
    for (int k = 0; k < outputs; k++) {
        void *memory;
        int64_t *own;
        const AOTITorchError failed =
            is_flat ? aoti_torch_empty_strided(most, shape, dense, dtype, aoti_torch_device_type_cpu(), 0, out[k])
                    : aoti_torch_clone(in[like], out[k]);
        if (failed || aoti_torch_get_strides(*out[k], &own) || aoti_torch_get_data_ptr(*out[k], &memory)) {
            return AOTI_TORCH_FAILURE;
        }
        for (int64_t d = 0; d < most; d++) {
            steps[inputs + k][d] = shape[d] == 1 ? 0 : own[d] * size;
        }
        data[inputs + k] = (char *)memory;
    }
    const int all = inputs + outputs;
    for (int k = 0; k < all; k++) { /* all lie one after the other: one loop */
        for (int64_t d = 0; d < most; d++) {
            is_flat = is_flat && (shape[d] == 1 || steps[k][d] == dense[d] * size);
        }
    }
    int64_t inner[16], at[64] = {0};
    if (total == 0) {
        return AOTI_TORCH_SUCCESS;
    }
    if (is_flat || most == 0) {
        for (int k = 0; k < all; k++) {
            inner[k] = size;
        }
        loop(data, inner, (size_t)total, numbers);
        return AOTI_TORCH_SUCCESS;
    }
    for (int k = 0; k < all; k++) {
        inner[k] = steps[k][most - 1];
    }
    for (int64_t left = total / shape[most - 1]; left > 0; left--) {
        loop(data, inner, (size_t)shape[most - 1], numbers);
        for (int64_t d = most - 2; d >= 0; d--) {
            const int is_done = ++at[d] == shape[d];
            for (int k = 0; k < all; k++) {
                data[k] += is_done ? -(shape[d] - 1) * steps[k][d] : steps[k][d];
            }
            if (!is_done) {
                break;
            }
            at[d] = 0;
        }
    }
    return AOTI_TORCH_SUCCESS;
}
#endif
"""


def inductor_options(*functions: Any, dtypes: Iterable[torch.dtype] = (torch.float32,)) -> dict[str, Any]:
    """Options for inductor, by which compiled programs have these functions, and their gradients, as C in their own C++.

    Calls cost no Python then, and a package of AOTInductor runs in a process without Python and without Ogive. The bits
    are those of the kernels. Functions are element-wise ones of this package, or of :func:`wrap`.

    They are options of ``torch.compile``, and the ``inductor_configs`` of
    ``torch._inductor.aoti_compile_and_package``. They choose inductor's wrapper in C++, which needs a compiler.

    Raises ArgumentError for other functions, DTypeError for an element type that a function does not have.

    >>> import torch, ogive.torch
    >>> options = ogive.torch.inductor_options(ogive.torch.gelu)
    >>> sorted(options)
    ['aot_inductor.custom_ops_to_c_shims', 'cpp_wrapper']
    """
    kinds = tuple(dtypes)
    table: dict[Any, list[str]] = {}
    for function in functions:
        if not isinstance(function, TensorFunction):
            allowed = "functions of ogive.torch, such as ogive.torch.gelu"
            raise ArgumentError(message("ogive.torch.inductor_options", f"it was given {described(function)}", allowed))
        if function.operator.is_row_wise:
            what = f"{function.operator.name} is a function of rows, of which there is no C text"
            raise ArgumentError(message("ogive.torch.inductor_options", what, "element-wise functions"))
        for operator in _written(function.operator):
            table[entry(operator)] = [_declared(operator, kinds)]
    return {"cpp_wrapper": True, "aot_inductor.custom_ops_to_c_shims": table}


def _written(operator: Operator) -> Iterator[TensorOperator]:
    """The entry of an operator, and that of its gradient where no operand broadcasts: of one tensor."""
    for found in entries():
        if found.base is operator and not found.gradient_count:
            yield found
            if len(found.tensors) == 1 and found.differentiable:
                yield found.gradient(found.differentiable)
            return


def _declared(operator: TensorOperator, dtypes: Iterable[torch.dtype]) -> str:
    """The declaration of the function that inductor calls, and the text behind it."""
    outputs = operator.result_count
    inputs = [f"in{k}" for k in range(len(operator.tensors))]
    results = [f"ret{k}" for k in range(outputs)]
    arguments = [f"AtenTensorHandle {name}" for name in inputs]
    arguments += [f"{_c_type(p)}{p.name}_" for p in operator.parameters]
    arguments += [f"AtenTensorHandle *{name}" for name in results]
    head = f"AOTITorchError aoti_torch_cpu_{operator.entry_name}({', '.join(arguments)})"
    interfaces, branches = [], []
    chosen = [parameter for parameter in operator.parameters if parameter.choices]
    numbers = [f"(double){parameter.name}_" for parameter in operator.parameters if not parameter.choices]
    for dtype in dtypes:
        kind = ELEMENT_TYPE_OF.get(dtype)
        if kind is None or dtype not in operator.uniform_types:
            allowed = ", ".join(map(str, operator.uniform_types))
            raise DTypeError(message(f"ogive.torch.inductor_options: {operator.name}", f"{dtype} was given", allowed))
        for k, values in enumerate(product(*(parameter.choices for parameter in chosen))):
            choices = {parameter.name: value for parameter, value in zip(chosen, values, strict=True)}
            name = f"ogive_{operator.entry_name}_{kind.name}_{k}"
            names = [kind.name] * (operator.operator.inputs + outputs)
            interface = source_of_operator(operator.operator, names, choices, {}, name).interface
            interfaces.append(interface)
            conditions = [f"dtype == aoti_torch_dtype_{kind.name}()"]
            conditions += [_is(f"{chosen_name}_", value) for chosen_name, value in choices.items()]
            call = f"ogive_run(in, {len(inputs)}, out, {outputs}, {kind.itemsize}, {name}_loop, numbers)"
            branches.append(f"    if ({' && '.join(conditions)}) {{\n        return {call};\n    }}")
    # Several operators stand in one file, each with the helpers of its text; the standard's headers are there already.
    lines = source_text("ogive", interfaces, is_whole=True).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#include "))
    return "\n".join(
        [
            f"{head};",
            RUN,
            BEFORE,
            f'extern "C++" {{ namespace ogive_{operator.entry_name} {{ namespace {{',
            text,
            *map(_loop, interfaces),
            "}}}",
            f"{head} {{",
            f"    using namespace ogive_{operator.entry_name};",
            f"    const AtenTensorHandle in[] = {{{', '.join(inputs)}}};",
            f"    AtenTensorHandle *const out[] = {{{', '.join(results)}}};",
            f"    const double numbers[] = {{{', '.join(numbers) or '0.0'}}};",
            "    int32_t dtype;",
            "    if (aoti_torch_get_dtype(in0, &dtype)) {",
            "        return AOTI_TORCH_FAILURE;",
            "    }",
            *branches,
            "    return AOTI_TORCH_FAILURE;",
            "}",
            AFTER,
        ]
    )


def _loop(interface: Interface) -> str:
    """The function of pointers and steps in an array: over elements one after the other, or others."""
    data = [f"({operand.c_type})data[{k}]" for k, operand in enumerate(interface.operands)]
    steps = [f"steps[{k}]" for k in range(len(data))]
    numbers = [f"numbers[{k}]" for k in range(len(interface.parameters))]
    usual = " && ".join(f"{step} == (int64_t)sizeof *({one})" for step, one in zip(steps, data, strict=True))
    strided = [text for pair in zip(data, steps, strict=True) for text in pair]
    name = interface.name
    return "\n".join(
        [
            f"void {name}_loop(char *const *data, const int64_t *steps, size_t n, const double *numbers) {{",
            "    (void)numbers;",
            f"    if ({usual}) {{",
            f"        {name}({', '.join([*data, '0', 'n', *numbers])});",
            "    } else {",
            f"        {name}_strided({', '.join([*strided, '0', 'n', *numbers])});",
            "    }",
            "}",
        ]
    )


def _c_type(parameter: Parameter) -> str:
    kinds = {type(choice) for choice in parameter.choices}
    return {str: "const char *", int: "int64_t ", bool: "int32_t "}.get(kinds.pop(), "double ") if kinds else "double "


def _is(name: str, value: Any) -> str:
    return f'!strcmp({name}, "{value}")' if isinstance(value, str) else f"{name} == {int(value)}"
