"""A stock Firefox for the tests: start it, open pages in it and ask them, by WebDriver BiDi.

Playwright drives only a Firefox of its own; this is the one that readers have.
"""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import websocket

PATIENT = 180  # seconds: a busy machine is no reason to fail
# Firefox sets preferences of its own when it is driven; one lets all files share their storage,
# which no reader's Firefox does. So none of those, and here all that is to differ.
PREFERENCES = {
    "remote.prefs.recommended": False,
    "ui.prefersReducedMotion": 1,  # nothing is caught on its way
    "browser.download.folderList": 2,  # what is saved goes into the folder of the profile
    # It asks nothing of its maker's hosts, at the start or later ...
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.aboutwelcome.enabled": False,
    "browser.newtabpage.enabled": False,
    "browser.region.network.url": "",
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.search.update": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.page": 0,
    "browser.topsites.contile.enabled": False,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.blocklist.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "geo.provider.testing": True,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "network.prefetch-next": False,
    "network.trr.mode": 5,
    "security.OCSP.enabled": 0,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "signon.firefoxRelay.feature": "disabled",
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "",
    # ... and could not: beyond this machine there is only a proxy that nobody runs.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.failover_direct": False,
}


class Firefox:
    """One tab. `requests` are the addresses it has asked for, without files on disk."""

    def __init__(self, path: str, profile: Path):
        chosen = PREFERENCES | {"browser.download.dir": str(profile)}
        lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in chosen.items())
        profile.mkdir(parents=True, exist_ok=True)  # without the folder Firefox waits for ever
        (profile / "user.js").write_text("".join(lines), encoding="utf-8")
        self.requests: list[str] = []
        self.last = 0
        self.process = self._start(path, profile)
        self.socket = websocket.create_connection(
            f"{self._listening()}/session", timeout=PATIENT, suppress_origin=True
        )
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["network.beforeRequestSent"])
        self.tab = self.call("browsingContext.create", type="tab")["context"]
        size = {"width": 1280, "height": 900}
        self.call("browsingContext.setViewport", context=self.tab, viewport=size)

    def _start(self, path: str, profile: Path) -> subprocess.Popen:
        command = [path, "--headless", "--no-remote", "--profile", str(profile)]
        command += ["--remote-debugging-port=0"]
        if sys.platform == "win32":
            command += ["--wait-for-browser"]
        environment = os.environ | {"MOZ_CRASHREPORTER_DISABLE": "1"}
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
            text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip

    def _listening(self) -> str:
        """The address that Firefox prints; whatever it says later is read, but not kept."""
        said = []
        for line in self.process.stderr:
            said.append(line)
            if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
                self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
                self.reader.start()
                return found[1]
        raise RuntimeError(f"Firefox ended before it listened:\n{''.join(said)}")

    def call(self, method: str, **parameters) -> dict:
        """One command's result; what happens meanwhile is noted."""
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": parameters}))
        while (answer := json.loads(self.socket.recv())).get("id") != self.last:
            if answer.get("method") == "network.beforeRequestSent":
                self.requests.append(answer["params"]["request"]["url"])
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
        return answer["result"]

    def goto(self, address: str) -> None:
        self.call("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def reload(self) -> None:
        self.call("browsingContext.reload", context=self.tab, wait="complete")

    def evaluate(self, function: str, *given):
        """What a function of the page makes of `given`, both as JSON; a promise is waited for."""
        result = self.call(
            "script.evaluate",
            expression=f"Promise.resolve(({function})(...{json.dumps(given)})).then(JSON.stringify)",
            target={"context": self.tab},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"].get("value", "null"))

    def close(self) -> None:
        self.call("browser.close")
        self.socket.close()
        self.process.wait(PATIENT)
        self.reader.join()
        self.process.stderr.close()
