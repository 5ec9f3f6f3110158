# SPDX-License-Identifier: MIT
"""What a program finds around it: processes, terminals, memory, text."""
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import Pool, shared_memory

from case import case, fails, run_all, same


def square(n):
    return n * n


@case
def stdin_is_at_its_end():
    same(os.read(0, 1), b"")


@case
def there_is_no_terminal():
    same([os.isatty(fd) for fd in (0, 1, 2)], [False] * 3)
    fails((6, 2, 13), os.open, "/dev/tty", os.O_RDWR)


@case
def shared_memory_and_pools_work():
    m = shared_memory.SharedMemory(create=True, size=4096)
    m.buf[:5] = b"hello"
    n = shared_memory.SharedMemory(m.name)
    same(bytes(n.buf[:5]), b"hello")
    n.close()
    m.close()
    m.unlink()
    with Pool(2) as p:
        same(p.map(square, range(5)), [0, 1, 4, 9, 16])


@case
def text_is_utf8():
    same((sys.getfilesystemencoding(), sys.stdout.encoding.lower()), ("utf-8", "utf-8"))
    same(subprocess.run(["printf", "é€𝄞"], stdout=subprocess.PIPE).stdout.decode(), "é€𝄞")


@case
def places_to_write_are_there():
    for d in (tempfile.gettempdir(), os.environ["HOME"], "/dev/shm"):
        with tempfile.NamedTemporaryFile(dir=d) as f:
            f.write(b"x")
    with open("/dev/null", "r+b") as null:
        null.write(b"x")
    same(len(os.urandom(16)), 16)


@case
def children_are_reaped():
    for _ in range(20):
        subprocess.run(["/bin/sh", "-c", "( : & ) ; exit 0"], check=True)
    time.sleep(0.5)
    zombies = [p for p in os.listdir("/proc") if p.isdigit() and b") Z " in open("/proc/%s/stat" % p, "rb").read()]
    assert len(zombies) < 5, zombies


run_all()
