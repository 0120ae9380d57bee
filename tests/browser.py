"""Chromium for the browser tests: find it, or say in one sentence how to get it.

    python tests/browser.py --install

installs it where that is allowed (apt-get as root or with a sudo that asks nothing).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = ("Google Chrome.app/Contents/MacOS/Google Chrome", "Chromium.app/Contents/MacOS/Chromium")
WINDOWS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
)
# Without them Chromium asks its maker's hosts for updates, or refuses to run as root.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOW_TO_INSTALL = (
    "The browser tests need Chromium or Chrome, and none was found: install it (Debian and Ubuntu: "
    "`sudo apt-get install chromium`; macOS: `brew install --cask chromium`; Windows: Chrome or "
    "Edge), or set TFM_CHROMIUM to its path."
)


def usual_places() -> Iterator[Path]:
    """Where a browser may be that is not on the PATH, on macOS and on Windows."""
    for folder in (Path("/Applications"), Path.home() / "Applications"):
        yield from (folder / app for app in MAC)
    for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
        if os.environ.get(variable):
            yield from (Path(os.environ[variable]) / program for program in WINDOWS)


def find_chromium() -> str | None:
    """The path of a Chromium, or None."""
    if os.environ.get("TFM_CHROMIUM"):
        return shutil.which(os.environ["TFM_CHROMIUM"])
    on_path = (found for name in NAMES if (found := shutil.which(name)))
    elsewhere = (str(place) for place in usual_places() if place.is_file())
    return next(on_path, None) or next(elsewhere, None)


def may_apt_get() -> list[str] | None:
    """The words to put before `apt-get`, or None where it is missing or not allowed."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    quiet_sudo = ["sudo", "-n"]
    if shutil.which("sudo") and subprocess.run([*quiet_sudo, "true"], check=False).returncode == 0:
        return quiet_sudo
    return None


def install() -> str:
    """Install Chromium where it is missing and may be installed; return how that went."""
    found = find_chromium()
    if found:
        return f"Browser for the tests: {found}"
    prefix = may_apt_get()
    if prefix is None:
        return HOW_TO_INSTALL
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "-y", "chromium"]):
        subprocess.run([*prefix, "apt-get", *command], env=environment, check=False)
    found = find_chromium()
    return f"Installed for the tests: {found}" if found else HOW_TO_INSTALL


if __name__ == "__main__":
    if sys.argv[1:] != ["--install"]:
        sys.exit("usage: python tests/browser.py --install")
    print(install())
