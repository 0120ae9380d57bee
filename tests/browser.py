"""Browsers for the tests: find them, or say how to get them; open pages in Chromium.

    python tests/browser.py --install

installs Chromium and Firefox where that is allowed (apt-get as root or with a sudo that asks
nothing).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = ("Google Chrome.app/Contents/MacOS/Google Chrome", "Chromium.app/Contents/MacOS/Chromium")
WINDOWS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
)
FIREFOX_NAMES = ("firefox-esr", "firefox")
FIREFOX_MAC = ("Firefox.app/Contents/MacOS/firefox",)
FIREFOX_WINDOWS = ("Mozilla Firefox/firefox.exe",)
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
HOW_TO_INSTALL_FIREFOX = (
    "Some browser tests need Firefox, and none was found: install it (Debian: `sudo apt-get "
    "install firefox-esr`; macOS: `brew install --cask firefox`), or set TFM_FIREFOX to its path."
)


def usual_places(mac: tuple[str, ...], windows: tuple[str, ...]) -> Iterator[Path]:
    """Where a browser may be that is not on the PATH, on macOS and on Windows."""
    for folder in (Path("/Applications"), Path.home() / "Applications"):
        yield from (folder / app for app in mac)
    for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
        if os.environ.get(variable):
            yield from (Path(os.environ[variable]) / program for program in windows)


def find(
    variable: str, names: tuple[str, ...], mac: tuple[str, ...], windows: tuple[str, ...]
) -> str | None:
    """The path of a browser: as the variable has it, on the PATH or in a usual place; or None."""
    if os.environ.get(variable):
        return shutil.which(os.environ[variable])
    on_path = (found for name in names if (found := shutil.which(name)))
    elsewhere = (str(place) for place in usual_places(mac, windows) if place.is_file())
    return next(on_path, None) or next(elsewhere, None)


def find_chromium() -> str | None:
    return find("TFM_CHROMIUM", NAMES, MAC, WINDOWS)


def find_firefox() -> str | None:
    return find("TFM_FIREFOX", FIREFOX_NAMES, FIREFOX_MAC, FIREFOX_WINDOWS)


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
    """Install what is missing and may be installed; return how that went, a line for each."""
    browsers = (
        (find_chromium, "chromium", HOW_TO_INSTALL),
        (find_firefox, "firefox-esr", HOW_TO_INSTALL_FIREFOX),
    )
    missing = [package for find_it, package, _ in browsers if not find_it()]
    prefix = may_apt_get() if missing else None
    if prefix is not None:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        # Each by itself: where one cannot be had, the other still can.
        for command in (["update", "-qq"], *(["install", "-qq", "-y", one] for one in missing)):
            subprocess.run([*prefix, "apt-get", *command], env=environment, check=False)
    found = [(find_it(), how) for find_it, _, how in browsers]
    return "\n".join(f"Browser for the tests: {path}" if path else how for path, how in found)


# --- pages in the browser -------------------------------------------------------------------------

MODES = ("light", "dark")
DESKTOP, TELEPHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 800}
# Nothing is caught on its way: every page is seen as by a reader who asked for less motion.
AT_REST = {"reduced_motion": "reduce"}
# What was asked of the browser before, such as a new width or a scroll, is done and drawn.
NEXT_FRAMES = """() => new Promise(
    done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"""
MATHEMATICS_IS_SET = f"""async () => {{
    if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
    await document.fonts.ready;
    await ({NEXT_FRAMES})();
}}"""
UNSET_FORMULAS = """() => [...document.querySelectorAll('.math')]
    .filter(box => !box.querySelector('mjx-container') || box.querySelector('mjx-merror'))
    .map(box => box.textContent)"""
# From picture to picture down to the end: each is loaded when the reader comes near it. A picture
# in a closed fold is never loaded, so a wait for it would not end: the reader opens them all.
READ_TO_THE_END = """async () => {
    for (const fold of document.querySelectorAll('article details')) fold.open = true;
    const shown = [...document.images].filter(image => image.getClientRects().length);
    for (const place of [...shown, document.querySelector('footer.bd-footer')]) {
        place.scrollIntoView();
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
    await Promise.all(shown.map(image => image.decode()));
    scrollTo(0, 0);
}"""


@dataclass
class Visit:
    """What one page did in one mode: each list has a line for each thing that was seen."""

    page: str
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    loads: dict[str, int] = field(default_factory=dict)  # address: bytes
    formulas: int = 0
    unset_formulas: list[str] = field(default_factory=list)
    shown_figures: list[str] = field(default_factory=list)
    hidden_figures: list[str] = field(default_factory=list)  # addresses
    sticking_out: list[str] = field(default_factory=list)
    without_focus: list[str] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def violations(page, context: dict | None = None, **options) -> list[str]:
    """What axe-core objects to, one line a place, with its advice."""
    from axe_playwright_python.sync_playwright import Axe

    options["resultTypes"] = ["violations"]
    options["preload"] = False  # else axe fetches style sheets again, some from a wrong folder
    # The drawing of a formula is hidden from screen readers, which get its MathML instead.
    context = context or {"exclude": [["mjx-math"]]}
    found = Axe().run(page, context=context, options=options).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]} -- {node.get('failureSummary', '')}"
        for rule in found
        for node in rule["nodes"]
    ]


def watch(page, visit: Visit, own_host: str) -> None:
    """Record errors, failed loads and their weights; let no request leave this machine."""

    def route(request_route):
        address = request_route.request.url
        if urlsplit(address).netloc == own_host:
            request_route.continue_()
        else:
            visit.outside.append(address)
            request_route.abort()

    def answered(answer):
        if answer.status >= 400:
            visit.errors.append(f"{answer.status} {answer.url}")
        visit.loads[answer.url] = int(answer.headers.get("content-length", 0))

    def said(line):
        if line.type == "error":
            visit.errors.append(line.text)

    page.route("**/*", route)
    page.on("response", answered)
    page.on("console", said)
    page.on("pageerror", lambda error: visit.errors.append(str(error)))


def open_page(chromium, address: str, mode: str = "light", visit: Visit | None = None):
    """A page whose equations are set, at `address`; close it when you are done."""
    page = chromium.new_page(viewport=DESKTOP, color_scheme=mode, **AT_REST)
    watch(page, visit or Visit(address), urlsplit(address).netloc)
    page.goto(address)
    page.evaluate(MATHEMATICS_IS_SET)
    return page


def report(visits: list[Visit], what: str) -> str:
    """One line for each thing of this kind that was seen, with its page."""
    return "\n".join(f"{visit.page}: {line}" for visit in visits for line in getattr(visit, what))


if __name__ == "__main__":
    if sys.argv[1:] != ["--install"]:
        sys.exit("usage: python tests/browser.py --install")
    print(install())
