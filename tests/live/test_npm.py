"""What pages need from npm: pinned by hash, no host named, a sentence where it cannot be had."""

import json
import re
import shutil

import pytest

from book.live import assets, npm

LOCK = json.loads(npm.LISTS[1].read_text("utf-8"))


def test_every_package_is_pinned_by_a_hash_and_no_host_is_named():
    packages = {name: about for name, about in LOCK["packages"].items() if name}
    assert len(packages) > 15
    assert all(about["integrity"].startswith("sha512-") for about in packages.values())
    assert not re.search(r"https?://|resolved", npm.LISTS[1].read_text("utf-8"))


def test_an_unreachable_registry_is_told_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(npm.OutOfReachError, match=r"registry cannot be reached \(ECONNREFUSED\)"):
        npm.packages(tmp_path / "npm")
    assert not (tmp_path / "npm/installed").exists()


def test_a_wrong_hash_is_an_error_and_not_a_way_around(tmp_path, monkeypatch):
    lists = [tmp_path / path.name for path in npm.LISTS]
    for path, copy in zip(npm.LISTS, lists, strict=True):
        shutil.copy(path, copy)
    lock = json.loads(lists[1].read_text("utf-8"))
    crelt = lock["packages"]["node_modules/crelt"]
    crelt["integrity"] = crelt["integrity"][:10] + "AAAA" + crelt["integrity"][14:]
    lists[1].write_text(json.dumps(lock), "utf-8")
    monkeypatch.setattr(npm, "LISTS", tuple(lists))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(npm.NpmError, match="EINTEGRITY"):
        npm.packages(tmp_path / "npm")


def test_without_npm_the_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(npm, "program", lambda name: None)
    with pytest.raises(npm.OutOfReachError, match="make environment"):
        npm.packages(tmp_path)


def test_the_licence_of_every_package_is_in_the_site():
    modules = npm.packages()
    text = assets.licences(modules).decode()
    installed = {path.parent for path in modules.rglob("package.json") if path.parent.parent in
                 (modules, *modules.glob("@*"))}  # fmt: skip
    for package in installed - {modules / "esbuild", modules / "ws"}:  # these are not in the site
        name = package.relative_to(modules).as_posix()
        if name.startswith("@esbuild"):
            continue
        short = {"pyodide": "Pyodide", "@emscripten-forge/numpy": "NumPy"}.get(name, name)
        assert re.search(rf"^{re.escape(short)}", text, re.MULTILINE), name
    assert "Mozilla Public License Version 2.0" in text


def test_the_page_has_no_module_that_needs_what_is_not_there():
    """Every module of tfmlib in the page imports with NumPy alone."""
    names = [path for path in assets.library_files() if path.startswith("tfmlib/")]
    assert "tfmlib/model.py" not in names
    assert {"tfmlib/ref.py", "tfmlib/check.py", "tfmlib/checking/judge.py"} <= set(names)
