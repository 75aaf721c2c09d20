"""Loads the suite's pytest plugin, so that `pytest suites --backend=…` works from a checkout."""

pytest_plugins = ["suites.plugin"]
