"""A hub of models on this machine, for those that are fetched: it redirects to another host, as the real one does."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.embeddings.loopback import LoopbackServer

NAME = "minishlab/potion-base-8M"


class Hub(LoopbackServer):
    """A model hub that redirects to another host for the files, as the real one does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: list[str] = []
        self.status = 200
        self.body: bytes | None = None
        self.location: str | None = None
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.paths.append(self.path)
                if "/resolve/main/" in self.path and hub.status == 200:
                    file = self.path.partition("/resolve/main/")[2]
                    self.send_response(302)
                    self.send_header("location", hub.location or f"http://localhost:{hub.port}/cdn/{file}?signed=1")
                    self.end_headers()
                    return
                self.send_response(hub.status)
                self.end_headers()
                self.wfile.write(hub.read(self.path))

            def log_message(self, *_: object) -> None:
                pass

        # On every address: the files lie at "localhost", which may be another one.
        super().__init__(Handler, address="")

    def read(self, path: str) -> bytes:
        if self.body is not None:
            return self.body
        if path.startswith("/api/models/"):
            files = [str(file.relative_to(self.folder)) for file in self.folder.rglob("*") if file.is_file()]
            extra = ["onnx/model.onnx", "pytorch_model.bin", "../../evil.json", "modeling.py", "openvino/config.json"]
            return json.dumps({"siblings": [{"rfilename": name} for name in [*files, *extra]]}).encode()
        return (self.folder / path.removeprefix("/cdn/").partition("?")[0]).read_bytes()
