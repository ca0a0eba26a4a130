"""An API of a model that answers with what a test has written down to the letter, and keeps what it was sent."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Raw:
    """The server. Each answer is a body, or (status, headers, body)."""

    def __init__(self):
        self.answers, self.requests, self.paths, self.headers = [], [], [], []
        raw = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                raw.paths.append(self.path)
                raw.headers.append({name.lower(): value for name, value in self.headers.items()})
                raw.requests.append(self.rfile.read(int(self.headers["content-length"])).decode())
                answer = raw.answers.pop(0)
                status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
                body = body if isinstance(body, str) else json.dumps(body)
                kind = "application/json" if body.startswith(("{", "[")) else "text/event-stream"
                self.send_response(status)
                for name, value in {"content-type": kind, **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def says(self, *answers):
        self.answers = list(answers)
        self.requests.clear()
        self.paths.clear()
        self.headers.clear()

    def asked(self, at=-1):
        return json.loads(self.requests[at])
