"""Device stacks behind one interface, and the worker process that keeps them away from the tests."""
