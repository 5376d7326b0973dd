# args: --cpu
"""Modules are imported, and nothing is done with them. Again and again, so that it lasts long enough."""

import importlib
import sys
import time

NAMES = ("email.message", "xml.dom.minidom", "unittest.mock", "http.server", "json", "decimal", "doctest", "calendar")


def main():
    kept = set(sys.modules)
    end = time.process_time() + 1
    while time.process_time() < end:
        for name in NAMES:
            importlib.import_module(name)
        for name in set(sys.modules) - kept:
            del sys.modules[name]


main()
