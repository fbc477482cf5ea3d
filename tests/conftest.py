"""Fixtures of the whole suite. Its environment is set by `tests.environment`, see pytest.ini."""
