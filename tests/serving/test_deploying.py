"""The server behind real proxies, as the page on deployment has them."""

import asyncio
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
import yaml

from nmt.cli.asgi import application
from nmt.cli.compose import compose

PAGE = Path(__file__).parents[2] / "docs" / "deploying.md"
HUND = {"q": "Der Hund schläft.", "source": "de", "target": "en"}


def block(heading, kind):
    """Return the code block of a kind under a heading of the page."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.search(rf"```{kind}\n(.*?)```", section, re.DOTALL)[1]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return False
    return True


def nginx(folder, port, behind):
    text = block("nginx", "nginx").replace("127.0.0.1:5000", f"127.0.0.1:{behind}")
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    text = "\n".join(line for line in text.split("\n") if "ssl_" not in line)
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    path.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/log; events {{}} http {{ access_log off; {places} {text} }}"
    )
    return ["nginx", "-p", folder, "-c", path, "-e", folder / "log"]


def caddy(folder, port, behind):
    text = block("Caddy", "text").replace("127.0.0.1:5000", f"127.0.0.1:{behind}")
    path = folder / "Caddyfile"
    path.write_text("{\nadmin off\n}\n" + text.replace("translate.example.org", f"http://127.0.0.1:{port}"))
    return ["caddy", "run", "--config", path, "--adapter", "caddyfile"]


@pytest.mark.parametrize("proxy", [nginx, caddy], ids=["nginx", "caddy"])
def test_clients_behind_a_proxy_are_told_apart_and_cannot_lie(start, trained_run, tmp_path, proxy):
    if not shutil.which(proxy.__name__):
        pytest.skip(f"{proxy.__name__} is not installed")
    with start(tmp_path, f"run={trained_run}", "proxies=1", "requests_per_minute=3") as server:
        port = free_port()
        behind = server.url.rpartition(":")[2]
        environment = {"HOME": str(tmp_path), "PATH": "/usr/sbin:/usr/bin:/bin"}
        command = proxy(tmp_path, port, behind)
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
            try:
                until = time.monotonic() + 30
                while not is_open(port):
                    assert process.poll() is None
                    assert time.monotonic() < until
                    time.sleep(0.05)
                front = type(server)(process, f"http://127.0.0.1:{port}", [])
                expected = server.json("/translate", HUND)
                assert expected[0] == 200
                assert front.ask("/metrics")[0] in {403, 404}, "the counts are nobody's"
                with urllib.request.urlopen(f"{front.url}/", timeout=30) as page:
                    assert b"<textarea" in page.read()
                assert front.json("/translate", HUND | {"q": HUND["q"] * 2})[0] == 200
                headers = {"Content-Type": "application/json", "X-Forwarded-For": "203.0.113.5"}
                found = [front.ask("/translate", json.dumps(HUND).encode(), headers)[0] for _ in range(2)]
                assert found == [200, 429], "what a client writes into the header does not count"
            finally:
                process.terminate()


@pytest.mark.parametrize("heading", ["compose", "Kubernetes"])
def test_settings_in_files_for_containers_are_there(heading):
    for file in yaml.safe_load_all(block(heading, "yaml")):
        found = re.findall(r"serve[^\n]*", json.dumps(file))
        if heading == "compose":
            arguments = file["services"]["translate"]["command"].split()[1:]
        elif file["kind"] == "Deployment":
            arguments = file["spec"]["template"]["spec"]["containers"][0]["args"][1:]
        else:
            continue
        assert found
        assert compose("serve", arguments, None).settings().host == "0.0.0.0"


def test_the_unit_is_one(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    path = tmp_path / "nmt.service"
    path.write_text(block("systemd", "ini").replace("/opt/nmt/bin/nmt", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "nmt.service" in line]) == (0, [])


def test_any_server_of_asgi_can_answer(trained_run):
    app, sent = application(f"run={trained_run}", "device=cpu"), []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/health",
        "raw_path": b"/health",
        "query_string": b"",
        "headers": [],
    }
    asyncio.run(app(scope, receive, send))
    assert (sent[0]["status"], json.loads(sent[1]["body"])) == (200, {"status": "ok"})
