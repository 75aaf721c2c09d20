"""How much the sweeps draw: few samples by default, the same in every run; `--hypothesis-profile=sweep` draws many new ones."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick", max_examples=15, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("sweep", max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
