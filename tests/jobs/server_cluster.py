"""Several servers with one worker, one beat and one Redis, all on the same data folder."""

from celery import Celery
from job_processes import Command, RedisServer, query

from tests.live_server import LiveServer

SERVERS = 4


class Cluster:
    """Several servers on one data folder, a worker with four processes, a beat and their Redis."""

    def __init__(self, first: LiveServer, redis: RedisServer, upstream) -> None:
        self.first = first
        self.redis = redis
        self.upstream = upstream
        self._logs_read = [0, 0, 0]
        environment = {"REDIS_URL": redis.url, "MEMORY_STATIC_MODEL": "bundled"}
        others = [LiveServer(first.data_dir, environment) for _ in range(SERVERS - 1)]
        self.servers = [first, *(other.start() for other in others)]
        self.worker = Command(first, ["worker", "--concurrency=4"], {}).start()
        self.beat = Command(first, ["beat"], {}).start()

    def stop(self) -> None:
        self.worker.kill()
        self.beat.kill()
        for server in self.servers:
            server.close()
        self.redis.stop()

    def read_logs(self) -> str:
        """What all processes logged since the last call."""
        texts = [process.log_text for process in (self.first, self.worker, self.beat)]
        new = [text[seen:] for text, seen in zip(texts, self._logs_read, strict=True)]
        self._logs_read = [len(text) for text in texts]
        return "".join(new)

    def send_again(self) -> None:
        """Deliver a message for every row there ever was."""
        ids = [row[0] for row in query(self.first, "SELECT id FROM jobs")]
        app = Celery("sender", broker=self.redis.url)
        for job_id in ids:
            app.send_task("jobs.run", args=[job_id], queue="omniroute", ignore_result=True)
        app.close()


def count_vectors(server: LiveServer) -> int:
    [(table,)] = query(server, "SELECT table_name FROM memory_vec_meta WHERE state = 'active'")
    return int(query(server, f"SELECT count(*) FROM {table}_rowids")[0][0])
