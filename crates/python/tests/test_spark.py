"""Spark in its local mode, as a user's program; left out where it or Java is not installed."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "clusters_spark.py"


@pytest.mark.skipif(find_spec("pyspark") is None, reason="no Spark: pip install pyspark")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java: there is no `java`")
def test_columns_by_spark(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0 and done.stdout.endswith("right\n"), done.stdout + done.stderr
