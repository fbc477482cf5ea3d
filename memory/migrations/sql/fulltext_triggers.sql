-- Safe to run again at any time. They name no extension, so that any SQLite client can write to memories.
DROP TRIGGER IF EXISTS memory_fts_ai;
DROP TRIGGER IF EXISTS memory_fts_ad;
DROP TRIGGER IF EXISTS memory_fts_au;

CREATE TRIGGER memory_fts_ai AFTER INSERT ON memories BEGIN
    INSERT INTO memory_fts(rowid, content, key, terms, owner)
    VALUES (new.memory_id, new.content, new.key, new.search_terms, 'o' || hex(new.api_key_id) || '0');
END;

CREATE TRIGGER memory_fts_ad AFTER DELETE ON memories BEGIN
    INSERT INTO memory_fts(memory_fts, rowid, content, key, terms, owner)
    VALUES ('delete', old.memory_id, old.content, old.key, old.search_terms, 'o' || hex(old.api_key_id) || '0');
END;

-- Only when an indexed column changed: an index that is rewritten at every touch grows without end.
CREATE TRIGGER memory_fts_au AFTER UPDATE ON memories
WHEN old.content IS NOT new.content OR old.key IS NOT new.key OR old.search_terms IS NOT new.search_terms
  OR old.api_key_id IS NOT new.api_key_id OR old.memory_id IS NOT new.memory_id
BEGIN
    INSERT INTO memory_fts(memory_fts, rowid, content, key, terms, owner)
    VALUES ('delete', old.memory_id, old.content, old.key, old.search_terms, 'o' || hex(old.api_key_id) || '0');
    INSERT INTO memory_fts(rowid, content, key, terms, owner)
    VALUES (new.memory_id, new.content, new.key, new.search_terms, 'o' || hex(new.api_key_id) || '0');
END;
