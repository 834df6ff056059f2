"""Freed memory is kept: the second tensor of a size costs the system nothing."""

import platform
import subprocess
import sys

import pytest

CODE = """
import resource
import numpy as np
from recombine.engine.memory import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(2**21) for _ in range(4)]  # 16 MB each
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_memory()
first, second = faults(), faults()
print(first, second)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_the_second_tensor_of_a_size_finds_its_memory() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    first, second = (int(word) for word in run.stdout.split())
    assert second < first / 10
