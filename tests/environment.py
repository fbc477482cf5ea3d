"""Environment of the whole suite: a data folder of its own, no key of the developer's, quiet logs.

A plugin named in pytest.ini and not a conftest: pytest-django reads the settings before any conftest is imported.
"""

import os
import tempfile

FOREIGN = {"HOST", "PORT", "SECRET_KEY", "CELERY_BROKER_URL", "REDIS_URL", "METRICS_ENABLED"}
_data_dir = tempfile.TemporaryDirectory(prefix="omniroute-tests-")
os.environ.update(
    {
        "DATA_DIR": _data_dir.name,
        "LOG_LEVEL": "warning",
        "EMBEDDED_WORKER": "false",
        "ALLOWED_HOSTS": "127.0.0.1,localhost,testserver",
    }
)
for _name in [name for name in os.environ if name.endswith("_API_KEY") or name in FOREIGN]:
    del os.environ[_name]
