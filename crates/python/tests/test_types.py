"""The stubs are what the native module has, and the package and its examples keep to them."""

import subprocess
import sys
from pathlib import Path

import pytest

import girih

PACKAGE = Path(girih.__file__).parent
TESTS = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """One for all runs: most of each is NumPy's stubs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.mktemp("mypy")))
        yield


def run(*arguments, **options):
    made = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=300, **options
    )
    assert made.returncode == 0, made.stdout + made.stderr


def test_stubs_are_what_there_is(tmp_path):
    allowed = tmp_path / "allowed"
    # Slots that every class with an operator's other side has, and ones that only refuse: with
    # `__array__` ciphertexts would be array-likes.
    allowed.write_text(
        "girih\\._girih\\.__all__\n"
        # What functools caches has no signature of its own.
        "girih\\.orion\\._plan\\._steps\n"
        "girih\\._girih\\..*\\.__(reduce|reduce_ex|array|array_ufunc|r?pow|r?truediv|richcmp"
        "|rfloordiv|rmod|rlshift|rrshift)__\n"
    )
    run("mypy.stubtest", "girih", "--allowlist", str(allowed), "--ignore-unused-allowlist",
        cwd=tmp_path)  # fmt: skip


def test_the_package_keeps_to_them(tmp_path):
    run("mypy", "--strict", "-p", "girih", cwd=tmp_path)


def test_users_are_told(tmp_path):
    (tmp_path / "good.py").write_text(
        "import girih\n"
        "from girih import ckks\n"
        "c = girih.ClientKey.generate('STD128')\n"
        "with girih.ServerKey(c.evaluation_keys(), device='cpu') as server:\n"
        "    x = ~(c.encrypt([True]) & [False])\n"
        "v = ckks.ClientKey.generate('CKKS_D40')\n"
        "y: ckks.Ciphertexts = 2 * v.encrypt([1.0, 2.0]) + 1\n"
    )
    run("mypy", "--strict", "good.py", cwd=tmp_path)
    (tmp_path / "bad.py").write_text(
        "import girih\ngirih.ServerKey(girih.ClientKey.generate('STD128'))\n"
    )
    bad = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "bad.py"],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert bad.returncode == 1 and 'expected "EvaluationKeys"' in bad.stdout
