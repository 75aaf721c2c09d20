"""What the memory suites do next to a device: functions that run in its worker and tell what they saw."""
