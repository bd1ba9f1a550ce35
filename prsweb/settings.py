"""Django settings, all of them from PRSWEB_* variables (see docs/settings.md)."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from prsweb.paths import CHECKOUT, prsweb_home
from prsweb.static_version import tree_version

PRSWEB_HOME = prsweb_home()
PRSWEB_REDIS_URL = os.environ.get("PRSWEB_REDIS_URL", "redis://127.0.0.1:6379/0")
PRSWEB_PUBLIC_URL = os.environ.get("PRSWEB_PUBLIC_URL", "http://127.0.0.1:8000")


def _secret_key() -> str:
    """The key that ``prs up`` made; commands that need none (migrate) run without."""
    if key := os.environ.get("PRSWEB_SECRET_KEY"):
        return key
    if PRSWEB_HOME.secret_key.exists():
        return PRSWEB_HOME.secret_key.read_text().strip()
    return "no-key-yet:only-for-commands-that-sign-nothing"


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme not in ("sqlite", "postgres", "postgresql"):
        raise ImproperlyConfigured(
            "PRSWEB_DATABASE_URL must begin with postgresql:// or sqlite:///"
        )
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path),
            "OPTIONS": {
                # A writer takes its lock at BEGIN and waits for it, or web and
                # orchestrator meet "database is locked" in mid-transaction.
                "transaction_mode": "IMMEDIATE",
                "timeout": 30,
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                    "PRAGMA mmap_size=134217728; PRAGMA cache_size=-16000;"
                ),
            },
        }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
    }


SECRET_KEY = _secret_key()
DEBUG = False
ALLOWED_HOSTS = [
    "127.0.0.1",
    "localhost",
    "[::1]",
    *filter(None, os.environ.get("PRSWEB_ALLOWED_HOSTS", "").split(",")),
]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "ninja",
    "prsweb.accounts",
    "prsweb.jobs",
    "prsweb.dashboard",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "prsweb.static_files.VersionedStaticMiddleware",
    "prsweb.dashboard.packing.PageGZipMiddleware",
    "prsweb.dashboard.security.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "prsweb.urls"
ASGI_APPLICATION = "prsweb.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [CHECKOUT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {
    "default": _database(
        os.environ.get("PRSWEB_DATABASE_URL") or f"sqlite://{PRSWEB_HOME.database}"
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LOGIN_URL = "/sign-in/"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRSWEB_PUBLIC_URL.startswith("https:")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("pt-br", "Português (Brasil)"),
    ("pt", "Português (Portugal)"),
]
LOCALE_PATHS = [CHECKOUT / "locale"]

STATIC_URL = f"/static/{tree_version(CHECKOUT / 'static')}/"
STATICFILES_DIRS = [CHECKOUT / "static"]
STATIC_ROOT = PRSWEB_HOME.root / "cache" / "static"
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_ALLOW_ALL_ORIGINS = False
SERVESTATIC_AUTOREFRESH = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"axes": {"level": "WARNING"}, "httpx": {"level": "WARNING"}},
}


def _input_roots() -> tuple[Path, ...]:
    """PRSWEB_INPUT_ROOTS, colon-separated; ``prs up`` sets the defaults."""
    given = os.environ.get("PRSWEB_INPUT_ROOTS", "")
    return tuple(Path(root).resolve() for root in given.split(os.pathsep) if root)


PRSWEB_INPUT_ROOTS = _input_roots()


def _whole_number(name: str, default: int) -> int:
    text = os.environ.get(name, "") or str(default)
    if not (text.isascii() and text.isdigit()):
        raise ImproperlyConfigured(f"{name} must be a whole number (found: {text})")
    return int(text)


PRSWEB_MAX_NODES_PER_JOB = _whole_number("PRSWEB_MAX_NODES_PER_JOB", 1000)
