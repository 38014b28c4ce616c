"""The example page, in Chromium without a screen."""

import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import ogive

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=20000",
    "--dump-dom",
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: chromium)")
def test_the_page_computes(tmp_path):
    pytest.importorskip("ziglang", reason="the package ziglang, which compiles for WebAssembly, is not installed")
    folder = tmp_path / "page"
    ogive.export([ogive.celu, ogive.softmax], triple="wasm32-wasi", form="shared", name="activations").write(folder)
    shutil.copy(ROOT / "examples" / "exported" / "page.html", folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/page.html"
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert '<output id="celu">-0.7298743 0.000000 2.000000</output>' in done.stdout, done.stderr[-2000:]
    assert '<output id="softmax">0.04201007 0.1141952 0.8437948</output>' in done.stdout
