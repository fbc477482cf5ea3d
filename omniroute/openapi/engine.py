"""Operations on the engine: preview, status, providers, reindex, self-test."""

from typing import Final

from rest_framework.views import APIView

from memory import views
from memory.serializers import ReindexBody, RetrievePreviewBody
from omniroute.openapi.components import BACKEND_ERRORS
from omniroute.openapi.description import (
    COUNT,
    FLAG,
    MOMENT,
    NUMBER,
    TEXT,
    Description,
    choice_of,
    list_of,
    or_null,
    record,
    refer,
)
from omniroute.openapi.examples import EXAMPLES

TAG: Final = "Engine"

RESOLUTION: Final = record(
    {
        "embeddingSource": or_null(TEXT),
        "embeddingModel": or_null(TEXT),
        "vectorStore": TEXT,
        "strategyUsed": choice_of("exact", "semantic", "hybrid", "adaptive"),
        "rerankApplied": FLAG,
        "rerankReason": or_null(TEXT),
        "fallbackReason": or_null(TEXT),
    }
)
EXPLANATION: Final = record(
    {
        "memoryId": TEXT,
        "chosen": FLAG,
        "verdict": TEXT,
        "reason": TEXT,
        "rank": or_null(COUNT),
        "candidates": COUNT,
        "score": or_null(NUMBER),
        "tokens": or_null(COUNT),
        "vectorRank": or_null(COUNT),
        "keywordRank": or_null(COUNT),
    }
)
PREVIEW: Final = record(
    {
        "memories": list_of(refer("RankedMemory")),
        "resolution": RESOLUTION,
        "totalTokensUsed": COUNT,
        "budgetMaxTokens": COUNT,
        "cut": list_of(refer("RankedMemory")),
    },
    {"explanation": EXPLANATION},
)
INDEX: Final = record(
    {"signature": TEXT, "dimensions": or_null(COUNT), "quantization": TEXT, "rows": COUNT, "total": COUNT}
)
QDRANT: Final = record(
    {"enabled": FLAG, "healthy": or_null(FLAG), "latencyMs": or_null(COUNT), "error": or_null(TEXT)},
    {
        "answering": FLAG,
        "paused": FLAG,
        "collection": or_null(TEXT),
        "alias": or_null(TEXT),
        "embedding": or_null(TEXT),
        "dimensions": or_null(COUNT),
        "points": or_null(COUNT),
        "total": or_null(COUNT),
        "pending": or_null(COUNT),
        "reason": or_null(TEXT),
        "remedy": or_null(TEXT),
        "nextTryAt": or_null(MOMENT),
    },
)
STATUS: Final = record(
    {
        "keyword": record({"available": FLAG, "backend": choice_of("FTS5", "none"), "reason": TEXT}),
        "embedding": record(
            {
                "source": or_null(TEXT),
                "model": or_null(TEXT),
                "dimensions": or_null(COUNT),
                "available": FLAG,
                "reason": TEXT,
                "cacheStats": record({"hits": COUNT, "misses": COUNT, "size": COUNT}),
            }
        ),
        "vectorStore": record(
            {
                "backend": choice_of("sqlite-vec", "qdrant", "none"),
                "available": FLAG,
                "rowCount": COUNT,
                "needsReindex": COUNT,
                "reason": TEXT,
                "active": or_null(INDEX),
                "building": or_null(INDEX),
            }
        ),
        "qdrant": QDRANT,
        "rerank": record(
            {
                "enabled": FLAG,
                "provider": or_null(TEXT),
                "model": or_null(TEXT),
                "available": FLAG,
                "reason": TEXT,
            }
        ),
        "indexing": record(
            {
                "total": COUNT,
                "pending": COUNT,
                "due": COUNT,
                "givenUp": COUNT,
                "nextTryAt": or_null(MOMENT),
                "running": FLAG,
                "nextRunAt": or_null(MOMENT),
                "waitsFor": or_null(TEXT),
            }
        ),
        "sqlite": record({"driver": TEXT}),
    }
)
EMBEDDING_PROVIDERS: Final = record(
    {
        "providers": list_of(
            record(
                {
                    "provider": TEXT,
                    "hasKey": FLAG,
                    "models": list_of(record({"id": TEXT, "name": TEXT, "dimensions": or_null(COUNT)})),
                }
            )
        )
    }
)

ENGINE: Final[dict[tuple[type[APIView], str], Description]] = {
    (views.RetrievePreviewView, "POST"): Description(
        "previewRetrieval",
        TAG,
        "What a chat would get, and why",
        PREVIEW,
        "The very call that a chat makes; it changes nothing. Without `apiKeyId`, or an empty one, over all owners.",
        body=RetrievePreviewBody,
        errors=BACKEND_ERRORS,
        example=EXAMPLES["previewRetrieval"],
    ),
    (views.EngineStatusView, "GET"): Description(
        "readEngineStatus", TAG, "The state of the engine", STATUS, example=EXAMPLES["readEngineStatus"]
    ),
    (views.EmbeddingProvidersView, "GET"): Description(
        "listEmbeddingProviders",
        TAG,
        "Which providers sell embeddings",
        EMBEDDING_PROVIDERS,
        example=EXAMPLES["listEmbeddingProviders"],
    ),
    (views.ReindexView, "POST"): Description(
        "reindex",
        TAG,
        "Make the missing vectors, or all anew",
        record({"started": FLAG, "pending": COUNT}, {"reason": TEXT, "qdrant": record({"pending": COUNT})}),
        body=ReindexBody,
        example={"started": True, "pending": 0},
    ),
    (views.MemoryHealthView, "GET"): Description(
        "testPipeline",
        TAG,
        "Self-test of extraction and storage",
        record({"working": FLAG, "latencyMs": COUNT}, {"error": TEXT}),
        "200 whether it works or not: the body tells.",
        example={"working": True, "latencyMs": 4},
    ),
}
