-- Safe to run again at any time. One row a memory in memory_changes, its seq (AUTOINCREMENT) renewed at every write.
DROP TRIGGER IF EXISTS memory_changes_ai;
DROP TRIGGER IF EXISTS memory_changes_ad;
DROP TRIGGER IF EXISTS memory_changes_au;

CREATE TRIGGER memory_changes_ai AFTER INSERT ON memories BEGIN
    DELETE FROM memory_changes WHERE api_key_id = new.api_key_id AND memory_id = new.memory_id;
    INSERT INTO memory_changes(api_key_id, memory_id) VALUES (new.api_key_id, new.memory_id);
END;

CREATE TRIGGER memory_changes_ad AFTER DELETE ON memories BEGIN
    DELETE FROM memory_changes WHERE api_key_id = old.api_key_id AND memory_id = old.memory_id;
    INSERT INTO memory_changes(api_key_id, memory_id) VALUES (old.api_key_id, old.memory_id);
END;

CREATE TRIGGER memory_changes_au AFTER UPDATE ON memories BEGIN
    DELETE FROM memory_changes
    WHERE api_key_id IN (old.api_key_id, new.api_key_id) AND memory_id IN (old.memory_id, new.memory_id);
    INSERT OR IGNORE INTO memory_changes(api_key_id, memory_id) VALUES (old.api_key_id, old.memory_id);
    INSERT OR IGNORE INTO memory_changes(api_key_id, memory_id) VALUES (new.api_key_id, new.memory_id);
END;
