"""Messages over a pipe: each is bytes with their number before them, read whole or not at all."""

import os
import select
import struct
import time

HEAD = struct.Struct("<Q")


class TooLongError(ValueError):
    """A message longer than its reader takes."""


def send(pipe: int, message: bytes, deadline: float | None = None) -> None:
    """Write one message; TimeoutError when the deadline passes before all of it is taken.

    The pipe has to be set non-blocking for a deadline to hold in the middle of a message.
    """
    rest = memoryview(HEAD.pack(len(message)) + message)
    while rest:
        _wait_until(pipe, deadline, writing=True)
        try:
            rest = rest[os.write(pipe, rest) :]
        except BlockingIOError:
            continue


def is_ready(pipe: int, seconds: float) -> bool:
    """Wait so long at most for something to read, or for the end of the pipe."""
    return bool(select.select([pipe], [], [], seconds)[0])


def receive(pipe: int, deadline: float | None = None, most: int = 64 * 2**20) -> bytes:
    """Read one message; TimeoutError when the deadline passes, EOFError when the pipe closes."""
    (length,) = HEAD.unpack(_read(pipe, HEAD.size, deadline))
    if length > most:
        raise TooLongError(f"expected a message of at most {most} bytes, got {length}")
    return _read(pipe, length, deadline)


def _read(pipe: int, length: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        _wait_until(pipe, deadline, writing=False)
        part = os.read(pipe, min(2**20, length - len(parts)))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def _wait_until(pipe: int, deadline: float | None, writing: bool) -> None:
    wait = None if deadline is None else max(0.0, deadline - time.monotonic())
    wanted = ([], [pipe]) if writing else ([pipe], [])
    if not any(select.select(*wanted, [], wait)):
        raise TimeoutError
