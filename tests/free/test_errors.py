import inspect

import pytest

from ogive import errors


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name[0].isupper() and name != "OgiveError"])
def test_every_error_is_also_a_builtin_error(name):
    kind = getattr(errors, name)
    assert issubclass(kind, errors.OgiveError)
    builtins = [base for base in kind.__mro__ if base.__module__ == "builtins"]
    assert builtins[0] is not Exception, f"{name} derives from no built-in that says more than Exception"
    assert inspect.getdoc(kind)


def test_message():
    assert errors.message("celu", "alpha is 0") == "celu: alpha is 0"
    full = errors.message("celu", "alpha is 0", "any number but 0", "Use relu instead")
    assert full == "celu: alpha is 0; allowed: any number but 0. Use relu instead"
