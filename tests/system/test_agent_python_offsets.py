"""The table of layouts in src/agent/python_offsets.c is what the headers of the CPythons found here say."""

import importlib.machinery
import importlib.util
import os
import re

import pytest
from harness import ROOT, read_text


def load_tool():
    path = os.path.join(ROOT, "tools", "python_offsets")
    loader = importlib.machinery.SourceFileLoader("python_offsets", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("python_offsets", loader))
    loader.exec_module(module)
    return module


TOOL = load_tool()


def committed_rows():
    text = read_text(os.path.join(ROOT, "src/agent/python_offsets.c"))
    rows = [dict(re.findall(r"\.(\w+) = (\d+),", block)) for block in re.findall(r"\t\{\n(.*?)\n\t\},", text, re.S)]
    return {int(row["minor"]): {name: int(value) for name, value in row.items()} for row in rows}


def test_rows_are_of_every_version_that_is_promised():
    assert set(committed_rows()) >= set(range(6, 14))


@pytest.mark.parametrize("folder", TOOL.include_folders(), ids=os.path.basename)
def test_a_row_is_what_the_headers_say(folder):
    fresh = {name: value for name, value in TOOL.row(folder).items() if value}
    assert committed_rows()[fresh["minor"]] == fresh
