"""Files as other programs write them, in small."""

MEM0 = {
    "count": 2,
    "next": None,
    "results": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Is allergic to nuts",
            "hash": "1a2b3c",
            "user_id": "alice",
            "metadata": {"source": "chat", "room": "kitchen"},
            "categories": ["health"],
            "created_at": "2025-02-26T00:14:28.123456-07:00",
            "updated_at": "2025-03-01T00:00:00-07:00",
        },
        {
            "id": "11111111-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Deploys on Fridays",
            "hash": "4d5e6f",
            "agent_id": "ops",
            "run_id": "run-7",
            "metadata": None,
            "created_at": "2025-02-26T00:14:28-07:00",
            "updated_at": None,
        },
    ],
}

OPEN_WEBUI = [
    {"id": "b3d1", "user_id": "u1", "content": "Lives in Vilnius", "updated_at": 1730000000, "created_at": 1720000000}
]

LIBRECHAT = {
    "memories": [
        {
            "_id": "66f0",
            "userId": "64af",
            "key": "preferred_language",
            "value": "Prefers answers in Lithuanian",
            "tokenCount": 6,
            "updated_at": "2025-05-06T07:08:09.000Z",
        }
    ],
    "totalTokens": 6,
    "tokenLimit": 5000,
}

MONGO_LINES = (
    '{"_id":{"$oid":"66f0"},"userId":{"$oid":"64af"},"key":"pet","value":"Has a cat","tokenCount":3,'
    '"updated_at":{"$date":"2025-05-06T07:08:09Z"}}\n'
    '{"_id":{"$oid":"66f1"},"userId":{"$oid":"64af"},"key":"car","value":"Drives a van","tokenCount":3,'
    '"updated_at":{"$date":{"$numberLong":"1746515289000"}}}\n'
)


def speak(role, *parts, at=1714520000.5, **fields):
    content = {"content_type": "text", "parts": list(parts)}
    return {"author": {"role": role}, "create_time": at, "content": content, "recipient": "all", **fields}


def converse(*messages, id="c1"):
    nodes = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    for number, message in enumerate(messages):
        nodes[f"n{number}"] = {"id": f"n{number}", "message": message, "parent": "root", "children": []}
    return {"title": "t", "create_time": 1714520000.0, "conversation_id": id, "mapping": nodes, "current_node": "n0"}


def give_context(text, at):
    content = {"content_type": "model_editable_context", "model_set_context": text}
    return speak("assistant", at=at) | {"content": content}


CHATGPT = [
    converse(
        give_context("1. [2024-04-01]. Was a student\n", at=1711000000.0),
        speak("user", "I prefer tabs over spaces.", {"asset": "image"}),
        speak("assistant", "I prefer Postgres, says the model."),
        speak("assistant", "User writes Rust at work", recipient="bio", at=1714520001.0),
        speak("tool", "Model set context updated.", at=1714520002.0),
    ),
    converse(
        give_context("1. [2024-04-01]. Is a nurse\n2. [2024-05-02]. Lives in Oslo\n", at=1714000000.0),
        speak("user", "I use vim. I love hiking.", at=1714520009.0),
        id="c2",
    ),
]

CLAUDE_MEMORIES = [
    {
        "account_uuid": "acc-1",
        "conversations_memory": "**Work context**\n\nMaya runs a bar\nin Riga.\n\n# Tools\n- Uses Linear\n* Uses Figma",
        "project_memories": {"p-1": "The oven is electric."},
        "memory_files": [
            {"path": "/profile.md", "content": "Prefers metric units", "updated_at": "2026-01-02T03:04:05Z"}
        ],
    }
]

CLAUDE_CONVERSATIONS = [
    {
        "uuid": "conv-1",
        "name": "n",
        "created_at": "2025-08-01T10:00:00.000000Z",
        "chat_messages": [
            {
                "sender": "human",
                "text": "old form",
                "content": [{"type": "text", "text": "I hate meetings."}, {"type": "tool_use", "name": "x"}],
                "created_at": "2025-08-01T10:00:00.000000Z",
            },
            {"sender": "assistant", "text": "I love meetings.", "content": [], "created_at": "2025-08-01T10:00:01Z"},
            {"sender": "human", "text": "I prefer oolong tea.", "content": [], "created_at": "2025-08-02T10:00:01Z"},
        ],
    },
    {"uuid": "conv-2", "name": "", "created_at": "2025-08-01T10:00:00Z", "chat_messages": []},
]
