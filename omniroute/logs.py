"""Structured logs on standard error: one event name and its fields a line, for people or as JSON."""

import logging
import logging.config

import structlog
from structlog.typing import Processor

# httpx tells every URL it calls at info level, uvicorn every request, mcp its start: none is an event of ours.
LOUD_LIBRARIES = ("httpx", "httpcore", "uvicorn.access", "asyncio", "mcp")


def configure_logging(level: str, log_format: str) -> None:
    """`level` is a `logging` level name; `log_format` is `console` or `json`."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        structlog.processors.format_exc_info,
                        renderer,
                    ],
                    "foreign_pre_chain": shared,
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
            "root": {"level": level, "handlers": ["stderr"]},
            "loggers": {name: {"level": "WARNING"} for name in LOUD_LIBRARIES},
        }
    )
