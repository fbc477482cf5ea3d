-- The full-text index of memories. It stores no text of its own: it reads the view below, whose columns it mirrors.
-- `owner` is the owner as one word (hex, so that any id is a single token; the last 0 keeps the stemmer off it), which
-- lets a query name the owner inside MATCH: the cost then follows the owner's memories and not the table's.
CREATE VIEW IF NOT EXISTS memory_fts_source AS
SELECT memory_id, content, key, search_terms AS terms, 'o' || hex(api_key_id) || '0' AS owner
FROM memories;

-- Marks (Mn, Mc) belong to words: without them Hindi and Thai words fall apart.
CREATE VIRTUAL TABLE IF NOT EXISTS memory_fts USING fts5(
    content, key, terms, owner,
    content='memory_fts_source',
    content_rowid='memory_id',
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
