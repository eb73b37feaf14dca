"""Requests per second of `sapo serve`, and how long they take: python benchmarks/serve.py [--seconds 5]

Trains a small model on the bundled sample, starts a server on 127.0.0.1, and asks it from another process over a few
connections that stay open: one sentence a request, then batches of 200 sentences. Prints the load of the machine, and
on Linux also the processor time of the server, which other programs change less.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH = 200
WORDS = "The old man , who had lived near the river for years , sold his small boat in March ."


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    options.add_argument("--connections", type=int, default=8)
    options.add_argument("--server", type=int, help=argparse.SUPPRESS)
    options.add_argument("--address", help=argparse.SUPPRESS)  # set in the process that asks
    given = options.parse_args()
    if given.address is not None:
        ask_for(given.address, given.seconds, given.connections, given.server)
        return
    with tempfile.TemporaryDirectory() as room:
        model = Path(room) / "chunk.sapo"
        train(model)
        command = [sys.executable, "-m", "sapo", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                line = next(line for line in server.stderr if " serving " in line)
                asking = [sys.executable, __file__, "--address", line.split("//")[1].strip()]
                more = ["--seconds", str(given.seconds), "--connections", str(given.connections)]
                more += ["--server", str(server.pid)]
                subprocess.run([*asking, *more], check=True)
            finally:
                server.terminate()


def train(path: Path) -> None:
    import sapo
    from sapo.corpus.sample import COLUMNS, sample_path

    sapo.train(sample_path("train"), template="ner", columns=COLUMNS, label="chunk", epochs=3, seed=1).save(path)


def ask_for(address: str, seconds: float, connections: int, server: int) -> None:
    """Measure, and print what was found."""
    words = WORDS.split()
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {connections} connections")
    rates, costs = [], []
    for name, message, sentences, at_once in (
        ("one sentence", {"tokens": words}, 1, connections),
        (f"{BATCH} sentences", {"sentences": [words] * BATCH}, BATCH, 2),
    ):
        asyncio.run(measure(address, message, min(1.0, seconds), at_once))
        before = processor_seconds(server)
        times, passed = asyncio.run(measure(address, message, seconds, at_once))
        costs.append(1e6 * (processor_seconds(server) - before) / (sentences * len(times)))
        rates.append(sentences * len(times) / passed)
        p50, p95, p99 = (1000 * sorted(times)[int(len(times) * share)] for share in (0.5, 0.95, 0.99))
        print(
            f"{name:>14}: {len(times) / passed:8.0f} requests/s {rates[-1]:9.0f} sentences/s, "
            f"ms p50 {p50:.1f} p95 {p95:.1f} p99 {p99:.1f}; {costs[-1]:.0f} µs of the server a sentence"
        )
    print(f"batches tag {rates[1] / rates[0]:.1f} times as many sentences a second", end="")
    print(f", {costs[0] / costs[1]:.1f} times as many in a second of the processor" if costs[1] else "")


def processor_seconds(process: int) -> float:
    """Return how long a process has computed, or 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(address: str, message: object, seconds: float, connections: int) -> tuple[list[float], float]:
    """Return how long each request took, and how long it took in all."""
    body = json.dumps(message).encode()
    fields = f"Host: {address}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    head = f"POST /tag HTTP/1.1\r\n{fields}\r\n\r\n"
    request, times, started = head.encode() + body, [], time.perf_counter()

    async def ask() -> None:
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
        while (begun := time.perf_counter()) < started + seconds:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            length = answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            times.append(time.perf_counter() - begun)
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    return times, time.perf_counter() - started


if __name__ == "__main__":
    main()
