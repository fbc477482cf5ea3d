"""Every setting of the process, read once from the environment. Nothing else in the project reads `os.environ`.

Settings that an operator changes while the server runs (memory on or off, strategy, budget, ...) are rows of
`core.models.Setting` instead; see `core/runtime_settings.py`.
"""

from pathlib import Path
from typing import Any

import django_stubs_ext

from core.db.sqlite.options import CONNECTION_OPTIONS
from core.secret_key import load_secret_key
from omniroute.env import (
    export_text,
    read_bool,
    read_choice,
    read_fraction,
    read_int,
    read_list,
    read_seconds,
    read_text,
)
from omniroute.languages import list_languages
from omniroute.logs import configure_logging
from omniroute.provider_keys import PROVIDER_API_KEY_NAMES

# Django's generic classes take type arguments in the stubs only; this makes `ModelAdmin[Job]` work at run time too.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = "0.1.0"

# --- where it listens and keeps its data -----------------------------------------------------------------------
HOST = read_text("HOST", "127.0.0.1")
PORT = read_int("PORT", 20128, minimum=1, maximum=65535)
DATA_DIR = Path(read_text("DATA_DIR", str(BASE_DIR / "data"))).expanduser().absolute()
DATABASE_PATH = DATA_DIR / "storage.sqlite"
SQLITE_DRIVER = read_choice("SQLITE_DRIVER", "auto", ("auto", "stdlib", "pysqlite3", "sqlean"))

# Vectors off: searching stays with keywords. For machines where the extension misbehaves.
VECTOR_STORE_DISABLE_VEC = read_bool("VECTOR_STORE_DISABLE_VEC", False)

# --- who may call ------------------------------------------------------------------------------------------------
# A management key that needs no row in the database; empty = none.
OMNIROUTE_API_KEY = read_text("OMNIROUTE_API_KEY")
REQUIRE_API_KEY = read_bool("REQUIRE_API_KEY", True)
SECRET_KEY = load_secret_key(read_text("SECRET_KEY"), DATA_DIR)
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
# Bound to loopback, only loopback names are answered: a web page can't reach us by rebinding its own name.
ALLOWED_HOSTS = read_list("ALLOWED_HOSTS", ("127.0.0.1", "localhost", "[::1]") if HOST in LOOPBACK_HOSTS else ("*",))
CSRF_TRUSTED_ORIGINS = read_list("CSRF_TRUSTED_ORIGINS")
# Behind a proxy that ends TLS: browsers then send the login's cookies over HTTPS only.
COOKIE_SECURE = read_bool("COOKIE_SECURE", False)
# Requests a minute and key under /api, /v1 and /mcp; 0 = any number.
API_RATE_LIMIT_PER_MINUTE = read_int("API_RATE_LIMIT_PER_MINUTE", 0, minimum=0, maximum=1_000_000)
# The API key that `manage.py mcp` acts with.
OMNIROUTE_MCP_KEY = read_text("OMNIROUTE_MCP_KEY")
MAX_REQUEST_BYTES = read_int("MAX_REQUEST_BYTES", 32 * 1024 * 1024, minimum=1024, maximum=2**31)
# A file that is imported; one that comes by HTTP is a request too, and bounded as such.
MAX_IMPORT_BYTES = read_int("MAX_IMPORT_BYTES", 200 * 1024 * 1024, minimum=1024, maximum=2**40)
MAX_JSON_DEPTH = read_int("MAX_JSON_DEPTH", 40, minimum=5, maximum=500)

# --- providers ----------------------------------------------------------------------------------------------------
DEFAULT_PROVIDER = read_text("DEFAULT_PROVIDER").lower()
PROVIDER_API_KEYS = {name: read_text(name) for name in PROVIDER_API_KEY_NAMES}
UPSTREAM_CONNECT_TIMEOUT_SECONDS = read_seconds("UPSTREAM_CONNECT_TIMEOUT_SECONDS", 10.0, maximum=3600)
UPSTREAM_READ_TIMEOUT_SECONDS = read_seconds("UPSTREAM_READ_TIMEOUT_SECONDS", 600.0, maximum=86_400)
# Set to nothing counts as false: a switch that opens private networks must not open by a slip.
OUTBOUND_ALLOW_PRIVATE_ADDRESSES = read_bool("OUTBOUND_ALLOW_PRIVATE_ADDRESSES", True, when_empty=False)

# --- search -------------------------------------------------------------------------------------------------------
MEMORY_RRF_K = read_int("MEMORY_RRF_K", 60, minimum=0, maximum=10_000)
MEMORY_VEC_TOP_K = read_int("MEMORY_VEC_TOP_K", 20, minimum=1, maximum=1_000_000)
# Below this relevance (0 to 1) the adaptive strategy returns nothing; 0 = no minimum.
MEMORY_MIN_RELEVANCE = read_fraction("MEMORY_MIN_RELEVANCE", 0.0)
MEMORY_VEC_QUANTIZATION = read_choice("MEMORY_VEC_QUANTIZATION", "none", ("none", "int8"))

# Memory that a process may spend on in-process indexes of owners; the owner in use always fits.
MEMORY_INDEX_CACHE_MB = read_int("MEMORY_INDEX_CACHE_MB", 256, minimum=16, maximum=1_000_000)

# --- compaction ---------------------------------------------------------------------------------------------------
# How long what compaction, an import or an operator replaced is kept, so that it can be undone.
MEMORY_UNDO_DAYS = read_int("MEMORY_UNDO_DAYS", 30, minimum=1, maximum=3650)

# --- embeddings ---------------------------------------------------------------------------------------------------
# `bundled`, a folder, or a model2vec model of the hub; a sentence-transformers model likewise.
MEMORY_STATIC_MODEL = read_text("MEMORY_STATIC_MODEL", "minishlab/potion-base-8M")
_STATIC_CACHE_DIR = read_text("MEMORY_STATIC_CACHE_DIR", str(DATA_DIR / "embeddings"))
MEMORY_STATIC_CACHE_DIR = Path(_STATIC_CACHE_DIR).expanduser().absolute()
MEMORY_TRANSFORMERS_MODEL = read_text("MEMORY_TRANSFORMERS_MODEL", "sentence-transformers/all-MiniLM-L6-v2")
# More threads than idle cores make it slower, and the server has other things to do.
MEMORY_TRANSFORMERS_THREADS = read_int("MEMORY_TRANSFORMERS_THREADS", 1, minimum=1, maximum=256)
MEMORY_EMBEDDING_CACHE_MAX = read_int("MEMORY_EMBEDDING_CACHE_MAX", 1000, minimum=0, maximum=10_000_000)
MEMORY_EMBEDDING_CACHE_TTL_MS = read_int("MEMORY_EMBEDDING_CACHE_TTL_MS", 300_000, minimum=0, maximum=2**31)
HF_HUB_ENDPOINT = read_text("HF_HUB_ENDPOINT", read_text("HF_ENDPOINT", "https://huggingface.co"))
HF_HUB_OFFLINE = read_bool("HF_HUB_OFFLINE", False)
# Models that other programs of this machine fetched are used from where they are.
HF_HUB_CACHE = Path(
    read_text("HF_HUB_CACHE", str(Path(read_text("HF_HOME", "~/.cache/huggingface")) / "hub"))
).expanduser()

# --- Qdrant -------------------------------------------------------------------------------------------------------
# What stands behind the settings of /api/settings/qdrant that are empty.
QDRANT_HOST = read_text("QDRANT_HOST")
QDRANT_PORT = read_int("QDRANT_PORT", 6333, minimum=1, maximum=65_535)
QDRANT_API_KEY = read_text("QDRANT_API_KEY")
QDRANT_COLLECTION = read_text("QDRANT_COLLECTION", "omniroute_memory")
QDRANT_EMBEDDING_MODEL = read_text("QDRANT_EMBEDDING_MODEL", "openai/text-embedding-3-small")

# --- other backends -----------------------------------------------------------------------------------------------
OBSIDIAN_API_URL = read_text("OBSIDIAN_API_URL", "http://localhost:27123")
OBSIDIAN_API_KEY = read_text("OBSIDIAN_API_KEY")
NOTION_API_URL = read_text("NOTION_API_URL", "https://api.notion.com/v1")
NOTION_API_KEY = read_text("NOTION_API_KEY")
# All the time that a chat waits for a backend over a network before it goes on without memories.
BACKEND_CHAT_TIMEOUT_SECONDS = read_seconds("BACKEND_CHAT_TIMEOUT_SECONDS", 2.0, maximum=60)

# --- background work ----------------------------------------------------------------------------------------------
# Redis or another broker of Celery's; with one, Celery workers do the jobs. Empty = the server does them itself.
CELERY_BROKER_URL = read_text("CELERY_BROKER_URL", read_text("REDIS_URL"))
# Apart for each installation that shares a broker.
CELERY_QUEUE = read_text("CELERY_QUEUE", "omniroute")
# Whether the server does jobs itself; set it to true to have it help Celery workers.
EMBEDDED_WORKER = read_bool("EMBEDDED_WORKER", not CELERY_BROKER_URL)
# What tells a worker in another process of a new job; the row is there whether it is told or not.
JOB_ANNOUNCER = "core.jobs.bridge.announce" if CELERY_BROKER_URL else ""
# name of a job -> the function that does it. Written out here, in the roof, so that core.jobs knows nobody above it.
JOB_HANDLERS = {
    "gateway.purge_requests": "gateway.log_upkeep.purge_requests",
    "jobs.forget_done": "core.jobs.housekeeping.forget_done",
    "memory.bulk_change": "memory.tasks.change_many",
    "memory.undo_change": "memory.tasks.undo_change",
    "memory.check_backends": "memory.tasks.check_backends",
    "memory.compact": "memory.tasks.compact_many",
    "memory.compact_old": "memory.tasks.compact_old",
    "memory.count_old": "memory.tasks.count_old",
    "memory.erase": "memory.tasks.erase_rest",
    "memory.erase_scope": "memory.tasks.erase_all",
    "memory.extract_facts": "memory.tasks.extract_exchange",
    "memory.fetch_models": "memory.tasks.fetch_models",
    "memory.import": "memory.tasks.import_upload",
    "memory.index_pending": "memory.tasks.index_pending",
    "memory.mirror_backend": "memory.tasks.mirror_backend",
    "memory.purge_archives": "memory.tasks.purge_archives",
    "memory.purge_beyond_retention": "memory.tasks.purge_beyond_retention",
    "memory.purge_expired": "memory.tasks.purge_expired",
    "memory.reconcile_qdrant": "memory.tasks.reconcile_qdrant",
    "memory.sync_qdrant": "memory.tasks.sync_qdrant",
    "memory.upkeep": "memory.tasks.do_upkeep",
}

# Sections of runtime settings that the admin explains, so that core knows nobody above it.
SETTING_SECTIONS = [
    "gateway.request_settings.REQUEST_SECTION",
    "memory.config.MEMORY_SECTION",
    "qdrant_admin.config.QDRANT_SECTION",
]

# --- erasing ------------------------------------------------------------------------------------------------------
# Rooms that keep something of an owner's beside memory itself; see memory/erasing/.
ERASERS = [
    "gateway.log_upkeep.RequestLogEraser",
    "memory.backends.erasure.BackendsEraser",
    "memory.vector_stores.qdrant_erasing.QdrantEraser",
]

# --- metrics ------------------------------------------------------------------------------------------------------
METRICS_ENABLED = read_bool("METRICS_ENABLED", False)
# Every process of this data folder counts into files here, so that any of them can tell the sum.
METRICS_DIR = DATA_DIR / "metrics"
if METRICS_ENABLED:
    export_text("PROMETHEUS_MULTIPROC_DIR", str(METRICS_DIR))

# --- logs ---------------------------------------------------------------------------------------------------------
LOG_LEVEL = read_choice("LOG_LEVEL", "info", ("debug", "info", "warning", "error")).upper()
LOG_FORMAT = read_choice("LOG_FORMAT", "console", ("console", "json"))
LOGGING_CONFIG = None
configure_logging(LOG_LEVEL, LOG_FORMAT)

# --- Django -------------------------------------------------------------------------------------------------------
DEBUG = False
INSTALLED_APPS = [
    "omniroute.apps.OperatorAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "django_htmx",
    "django_celery_beat",
    "core",
    "core.jobs",
    "core.accounts",
    "core.providers",
    "qdrant_admin",
    "memory",
    "gateway",
    "studio",
    "omniroute",
]
MIDDLEWARE = [
    "core.middleware.RequestContextMiddleware",
    "core.middleware.SecurityMiddleware",
    "core.middleware.SessionMiddleware",
    "core.middleware.LanguageMiddleware",
    "core.middleware.CommonMiddleware",
    "core.middleware.CsrfViewMiddleware",
    "core.middleware.AuthenticationMiddleware",
    "core.middleware.MessageMiddleware",
]
ROOT_URLCONF = "omniroute.urls"
ASGI_APPLICATION = "omniroute.asgi.application"
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "core.db.sqlite",
        "NAME": str(DATABASE_PATH),
        "OPTIONS": CONNECTION_OPTIONS,
        # Tests run threads and whole servers against it, so an in-memory one would not do.
        "TEST": {"NAME": str(DATA_DIR / "test.sqlite")},
    }
}
# It holds the tries at signing in. Of Django's 300 entries somebody who makes names up could have them pushed out.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 10_000}},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/admin/login/"
# Programs are answered, logs written and rows stored in it; pages speak the browser's language where that is at hand.
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGES = list_languages(LOCALE_PATHS[0])
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_REQUEST_BYTES
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = COOKIE_SECURE
CSRF_COOKIE_HTTPONLY = False
CSRF_FAILURE_VIEW = "studio.errors.show_csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "core.accounts.authentication.BearerKeyAuthentication",
        "core.accounts.authentication.StaffSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["core.accounts.authentication.IsManager"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.json_body.StrictJSONParser"],
    "EXCEPTION_HANDLER": "core.error_handler.handle_exception",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_SCHEMA_CLASS": "omniroute.openapi.inspector.DescribedSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "OmniRoute Memory",
    "DESCRIPTION": "Memory for everything that talks to language models. See docs/api.md for the guide.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": [],
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
}
