"""Connection options of the SQLite database: one writer that waits, many readers that never do."""

# IMMEDIATE takes the write lock at BEGIN, so a transaction waits its turn instead of failing half-way with
# "database is locked" when it upgrades from reading to writing. That is also why ATOMIC_REQUESTS must stay off.
CONNECTION_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL;"
        "PRAGMA synchronous=NORMAL;"
        "PRAGMA busy_timeout=20000;"
        "PRAGMA temp_store=MEMORY;"
        "PRAGMA mmap_size=268435456;"
        "PRAGMA cache_size=-16000;"
        # What is deleted is overwritten: people's words must not linger in the file. A few percent of a write.
        "PRAGMA secure_delete=ON;"
    ),
}
