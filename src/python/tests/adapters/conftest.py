"""These tests want the frameworks of `requirements.txt`; where they are not installed, the tests of the package itself run alone."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("langchain") and importlib.util.find_spec("agents") else ["test_*.py"]
