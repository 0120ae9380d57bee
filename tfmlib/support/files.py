"""Files that are there whole or not at all, whatever happens while they are written."""

import contextlib
import errno
import os
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp"  # ends the name of a file that is being written


def write_whole(path: str | Path, content: bytes) -> None:
    """Write beside the file, make sure it is on the disk, then put it in the place of the old one.

    A power cut, a kill or a full disk leaves the old file as it was.
    """
    path = Path(path)
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        # On a full disk what was written so far is in the way; the reason matters more than it.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that the new names in a folder are on the disk; Windows does so by itself."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_lock(path: Path) -> BinaryIO | None:
    """A file that nobody else can lock until it is closed, or None if somebody has already.

    The system unlocks it when a process ends, however it ends. Some file systems, such as
    those that several machines share, may have no locks: that is an OSError.
    """
    import portalocker

    file = open(path, "ab")  # noqa: SIM115
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        file.close()
        return None
    except portalocker.LockException as error:
        file.close()
        reason = f"its file system cannot lock it ({error.strerror}); choose a folder elsewhere"
        raise OSError(errno.ENOLCK, reason, str(path)) from error
    return file
