"""A service with an empty cache answers while another process compiles, and later with compiled kernels."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import sapo

SERVER = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
import sapo
from sapo import jit
from sapo.features import hashing
from sapo.search import decoding

tagger = sapo.Tagger.load(sys.argv[1])

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        words = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        used, all_used = time.thread_time(), time.process_time()
        tags = tagger.tag(words)
        used, all_used = time.thread_time() - used, time.process_time() - all_used
        answer = {
            "tags": tags,
            "used": used,
            "waited": all_used - used,
            "compiled": all(hasattr(kernel, "py_func") for kernel in (hashing.look_up_strings, decoding.tag_sentences)),
            "compiling": jit.compile_seconds(),
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
SECONDS = 180.0  # at most; a quiet machine takes 15


def test_no_request_compiles_or_waits_for_it(tmp_path: Path) -> None:
    sentence = ["the", "cat", "sleeps", "here"] * 5
    tagger = sapo.train([(sentence, ["DT", "NN", "VBZ", "RB"] * 5)], template="pos", epochs=2)
    tagger.save(tmp_path / "model")
    expected = tagger.tag(sentence)
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(sapo.__file__).parent.parent),
    }
    command = [sys.executable, "-c", SERVER, str(tmp_path / "model")]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            started, answers = time.monotonic(), []
            while not (answers and answers[-1]["compiled"]) and time.monotonic() < started + SECONDS:
                with urllib.request.urlopen(url, json.dumps(sentence).encode(), timeout=10) as answer:
                    answers.append(json.load(answer))
                time.sleep(0.05)  # leave the processor to the one that compiles
        finally:
            server.kill()
    assert all(answer["tags"] == expected for answer in answers)
    assert answers[-1]["compiled"]
    # What another process does takes no time of the thread that answers; compiling takes seconds.
    assert max(answer["used"] for answer in answers) < 0.5
    # Processor time of other threads while a request was answered: wall time would count other programs, too.
    assert max(answer["waited"] for answer in answers) < 0.05
    assert answers[-1]["compiling"] == 0.0
