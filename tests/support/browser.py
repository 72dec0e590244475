"""A real browser, driven through chromedriver's plain HTTP interface: no package needed beyond Debian's chromium."""

import base64
import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

PACKAGES = ("chromium", "chromium-driver")
KEYS = {"space": " ", "left": "\ue012", "right": "\ue014", "end": "\ue010", "home": "\ue011", "tab": "\ue004"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing() -> str:
    """Why there is no browser, after trying to install one if that may be done; empty if there is one."""
    if not _both() and shutil.which("apt-get") and os.geteuid() == 0:
        with Path(tempfile.gettempdir(), "klearning_browser.lock").open("w") as lock:  # one at a time
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _both():
                _install()
    return "" if _both() else "NO BROWSER, THE REPORT IS NOT TESTED IN ONE: apt-get install " + " ".join(PACKAGES)


def _install() -> None:
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES]):
        subprocess.run(
            command, capture_output=True, timeout=600, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        )


def _both() -> bool:
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One headless window; use as a context."""

    def __init__(self, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.base, self.session = f"http://127.0.0.1:{port}", ""
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"]
        options: dict[str, Any] = {"args": [*arguments, f"--window-size={width},{height}"]}
        if not script:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._wait()
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def _wait(self) -> None:
        for _ in range(100):
            try:
                self.call("GET", "/status")
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("DELETE", self.path(""))
        finally:
            self.process.terminate()
            self.process.wait(timeout=20)

    def path(self, rest: str) -> str:
        return f"/session/{self.session}{rest}"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(error.read().decode()[:500]) from None

    def devtools(self, command: str, **params: Any) -> Any:
        return self.call("POST", self.path("/goog/cdp/execute"), {"cmd": command, "params": params})

    def open(self, address: str) -> None:
        self.call("POST", self.path("/url"), {"url": address})

    def run(self, script: str, *args: Any) -> Any:
        return self.call("POST", self.path("/execute/sync"), {"script": script, "args": list(args)})

    def find(self, css: str) -> str:
        return str(self.call("POST", self.path("/element"), {"using": "css selector", "value": css})[ELEMENT])

    def click(self, css: str) -> None:
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", css)
        self.call("POST", self.path(f"/element/{self.find(css)}/click"), {})

    def press(self, css: str, *keys: str) -> None:
        text = "".join(KEYS[key] for key in keys)
        self.call("POST", self.path(f"/element/{self.find(css)}/value"), {"text": text})

    def hover(self, css: str, x: float, y: float) -> None:
        """The pointer at shares x and y of the element's width and height."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", css)
        left, top, width, height = self.run(
            "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]",
            css,
        )
        there = {"type": "pointerMove", "duration": 0, "x": round(left + x * width), "y": round(top + y * height)}
        moves = [
            {**there, "x": there["x"] - 2},
            {**there, "duration": 50},
        ]  # from beside, so that it is a move every time
        self.call("POST", self.path("/actions"), {"actions": [{"type": "pointer", "id": "mouse", "actions": moves}]})

    def text(self, css: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).innerText", css))

    def log(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("POST", self.path("/se/log"), {"type": kind})
        return found

    def requests(self) -> list[str]:
        """Addresses that the page asked for, but for those that are their own content."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [address for address in sent if not address.startswith("data:")]

    def screenshot(self, path: Path, whole: bool = False) -> None:
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        width, height = self.run("const d = document.documentElement; return [d.clientWidth, d.scrollHeight]")
        return {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
