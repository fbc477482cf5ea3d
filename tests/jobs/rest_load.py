"""Load on the REST endpoints of several servers at once."""

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from server_cluster import Cluster

from tests.live_server import Key


class RestLoad:
    """Clients that write, read and reindex through all servers for as long as it lasts."""

    def __init__(self, cluster: Cluster, key: Key, seconds: float) -> None:
        self.cluster, self.key = cluster, key
        self.ids: set[str] = set()
        self.faults: list[str] = []
        self.read_seconds: list[float] = []
        self._seconds = seconds
        self._over_at = 0.0
        self._numbers = itertools.count()
        self._servers = itertools.cycle(cluster.servers)

    def run(self) -> None:
        self._over_at = time.monotonic() + self._seconds
        jobs = [self._post] * 20 + [self._list, self._reindex, self._summarize]
        with ThreadPoolExecutor(len(jobs)) as pool:
            for future in [pool.submit(self._repeat, job) for job in jobs]:
                future.result()

    def _repeat(self, job) -> None:
        server = next(self._servers)
        headers = {"Authorization": f"Bearer {server.management_key}"}
        with httpx.Client(base_url=server.base_url, headers=headers, timeout=60, trust_env=False) as client:
            while time.monotonic() < self._over_at:
                job(client)

    def _post(self, client: httpx.Client) -> None:
        number = next(self._numbers)
        name = f"shared{number % 7}" if number % 3 == 0 else f"own{number}"
        body = {"apiKeyId": self.key.id, "key": name, "content": f"written as number {number}"}
        answer = self._keep(client.post("/api/memory", json=body))
        if answer.status_code == 200:
            self.ids.add(answer.json()["id"])

    def _list(self, client: httpx.Client) -> None:
        started = time.monotonic()
        self._keep(client.get("/api/memory", params={"apiKeyId": self.key.id, "page": random.randint(1, 5)}))
        self.read_seconds.append(time.monotonic() - started)
        time.sleep(0.02)

    def _reindex(self, client: httpx.Client) -> None:
        self._keep(client.post("/api/memory/reindex", json={"force": True}))
        time.sleep(2)

    def _summarize(self, client: httpx.Client) -> None:
        self._keep(client.post("/api/memory/summarize", json={"olderThanDays": 30, "apiKeyId": "old-timer"}))
        time.sleep(1)

    def _keep(self, answer: httpx.Response) -> httpx.Response:
        if answer.status_code != 200:
            self.faults.append(f"{answer.status_code} {answer.text}")
        return answer
