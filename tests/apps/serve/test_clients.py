"""Clients that offer HTTP/2 with each request: the one of Java, which INCEpTION uses, and curl --http2."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

JAVA = """
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

class Client {
    public static void main(String[] arguments) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0]))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(arguments[1]))
            .build();
        for (int i = 0; i < 2; i++) {
            HttpResponse<String> reply = client.send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(reply.version() + " " + reply.statusCode() + " " + reply.body());
        }
    }
}
"""
BODY = json.dumps({"tokens": ["in", "Oslo"]})


def test_the_client_of_java_is_answered(address: str, tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    (tmp_path / "Client.java").write_text(JAVA)
    command = ["java", tmp_path / "Client.java", f"{address}/tag", BODY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "release version" in done.stderr or "could not find or load" in done.stderr.lower():
        pytest.skip(f"java cannot run a source file: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    for line in done.stdout.splitlines():
        version, status, body = line.split(" ", 2)
        assert (version, status) == ("HTTP_1_1", "200"), body
        assert json.loads(body)["sentences"][0]["tags"] == ["O", "B-LOC"]


@pytest.mark.parametrize("size", [1, 3000])  # a large body waits for 100 Continue
def test_curl_with_http2_is_answered(address: str, size: int) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    body = json.dumps({"tokens": ["in", "Oslo"] * size})
    url = f"{address}/tag"
    command = ["curl", "-sS", "--http2", "-d", "@-", "-H", "Content-Type: application/json", url, "--max-time", "60"]
    done = subprocess.run(command, input=body, capture_output=True, text=True, timeout=90)
    if "does not support this" in done.stderr:
        pytest.skip("this curl has no HTTP/2")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sentences"][0]["tags"] == ["O", "B-LOC"] * size
