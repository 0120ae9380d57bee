"""The walls around a student's process, put up before any of the student's code is read.

Run as a script by `sandbox.py`, never imported by the grader. At level "full" the process sees a
file system made of Python, its packages and a pruned tfmlib, all read-only, with an empty folder to
write in; it has no network, no view of other processes, and a user of its own. At level "user" it
only has that user; at level "weak" only the limits. It needs the standard library alone.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NET = 0x20000, 0x8000000, 0x10000000, 1 << 29, 1 << 30
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
DETACH = 2
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
MOUNT_SETATTR = 442  # the same number on every architecture
HOME = "/student"  # not /home: Python itself may be installed there
DEVICES = ("/dev/null", "/dev/urandom")


class Libc:
    """The system calls that Python has no function for."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def __getattr__(self, name: str) -> Callable[..., None]:
        function = getattr(self._libc, name)

        def call(*args: object) -> None:
            if function(*args) == -1:
                number = ctypes.get_errno()
                raise OSError(number, f"{name}: {os.strerror(number)}")

        return call

    def put(self, source: str, target: str, kind: str, flags: int, data: str = "") -> None:
        self.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode())

    def make_read_only(self, tree: str) -> None:
        """Everything mounted below: read-only, no set-user-id files, no devices."""
        read_only, recursive, here = 1 | 2 | 4, 0x8000, -100
        wanted = (ctypes.c_uint64 * 4)(read_only, 0, 0, 0)
        self.syscall(MOUNT_SETATTR, here, tree.encode(), recursive, ctypes.byref(wanted), 32)

    def drop_capabilities(self) -> None:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        self.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def enter(config: dict) -> None:
    """Put this process, or for "full" a child of it, behind the walls."""
    if config["level"] == "full":
        _unshare(config)
        _build_root(config)
    else:
        os.chdir(config["work"])
    _limit(config["limits"], config["level"])
    _become_nobody(config)


def _unshare(config: dict) -> None:
    libc, user, group = Libc(), os.getuid(), os.getgid()
    flags = NEW_MOUNTS | NEW_IPC | NEW_PIDS | NEW_NET
    libc.unshare(flags if config["uid"] else flags | NEW_USER)
    if not config["uid"]:  # not root: a user namespace gives the right to do the rest
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    child = os.fork()  # the first process of the new process namespace
    if child:
        os.closerange(0, 64)
        os.waitpid(child, 0)
        os._exit(0)
    _die_with_parent()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        Libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _build_root(config: dict) -> None:
    """A file system that holds only what a notebook needs."""
    libc, root = Libc(), config["root"]
    libc.put("none", "/", "", MS_REC | MS_PRIVATE)
    libc.put("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    # By length, so that a hidden folder is covered before something inside it is shown again.
    places = [(path, True) for path in config["visible"]]
    places += [(path, False) for path in config["hidden"]]
    for path, shown in sorted(places, key=lambda place: len(place[0])):
        if shown:
            _show(libc, path, root + path)
        elif os.path.isdir(root + path):
            libc.put("tmpfs", root + path, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755")
    for folder in (HOME, "/proc", "/dev"):
        os.makedirs(root + folder, exist_ok=True)
    for device in DEVICES:
        _write(root + device, "")
    libc.make_read_only(root)
    for device in DEVICES:  # after "no devices" was said of all else
        libc.put(device, root + device, "", MS_BIND)
    libc.put("tmpfs", root + HOME, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=777")
    with contextlib.suppress(OSError):  # a container may forbid it; an empty /proc shows nothing
        libc.put("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV)
    os.chdir(root)
    libc.pivot_root(b".", b".")
    libc.umount2(b".", DETACH)
    os.chdir(HOME)


def _show(libc: Libc, path: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        _write(target, "")
    libc.put(path, target, "", MS_BIND | MS_REC)


def _limit(limits: dict, level: str) -> None:
    def at_most(kind: int, amount: int) -> None:
        _, hard = resource.getrlimit(kind)
        amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(kind, (amount, amount))

    at_most(resource.RLIMIT_CORE, 0)
    at_most(resource.RLIMIT_CPU, limits["cpu_seconds"])
    at_most(resource.RLIMIT_FSIZE, limits["file_bytes"])
    at_most(resource.RLIMIT_NOFILE, 128)
    if sys.platform == "linux":
        at_most(resource.RLIMIT_AS, limits["memory_bytes"])
        with contextlib.suppress(OSError):
            _write("/proc/self/oom_score_adj", "1000")  # if memory runs out, this goes first
    if level != "weak":  # there the limit would count all that the instructor runs
        at_most(resource.RLIMIT_NPROC, limits["processes"])


def _become_nobody(config: dict) -> None:
    if config["uid"]:
        os.setgroups([])
        os.setresgid(config["uid"], config["uid"], config["uid"])
        os.setresuid(config["uid"], config["uid"], config["uid"])
    if sys.platform == "linux":
        libc = Libc()
        libc.drop_capabilities()
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _die_with_parent()  # a change of user has cleared it


def main() -> None:
    config = json.loads(sys.argv[1])
    _die_with_parent()
    try:
        enter(config)
    except OSError as error:
        sys.exit(f"level {config['level']!r} is not possible here: {error}")
    sys.argv = [""]
    sys.path.insert(0, config["stage"])
    import tfm_student  # type: ignore[import-not-found]  # it is on the stage alone

    nowhere = os.open("/dev/null", os.O_RDWR)  # output goes nowhere, however much it is
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    tfm_student.serve(*config["pipes"])


if __name__ == "__main__":
    main()
