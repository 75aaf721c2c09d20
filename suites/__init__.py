"""The normative tests, and the pytest plugin that runs them against a device."""
