# SPDX-License-Identifier: MIT
"""The record's attributes of files, and what can't be gone around."""
import ctypes
import errno
import hashlib
import os
import time

from case import WS, ZONE, case, child, ended, fails, read, run_all, same, write

SETTLE_S = 6
AT_SYMLINK_FOLLOW = 0x400


def recorded(path):
    try:
        return os.getxattr(path, "user.garth.sha256").decode()
    except OSError as e:
        if e.errno == errno.ENODATA:
            return None
        raise


def settled(path):
    """The recorded hash must come to be that of the bytes."""
    want, end = hashlib.sha256(read(path)).hexdigest(), time.time() + SETTLE_S
    while recorded(path) != want:
        if time.time() > end:
            raise AssertionError("%s: the record says %s, the bytes are %s" % (path, recorded(path), want))
        time.sleep(0.02)


def hashed(f):
    """A case of the zones whose versions are hashed: task/ is none."""
    return f if ZONE == "task" else case(f)


@hashed
def hash_is_that_of_the_bytes():
    for i in range(40):
        if i % 4 == 0:
            write("f", b"%d" % i * 10)
        elif i % 4 == 1:
            write("f", b"more", "ab")
        elif i % 4 == 2:
            with open("f", "r+b") as f:
                f.write(b"%03d" % i)
        else:
            os.truncate("f", 5)
        if i % 3 == 0:
            settled("f")
    settled("f")
    same(os.getxattr("f", "user.garth.agent").decode(), os.environ.get("GARTH_AGENT", ""))
    same(os.getxattr("f", "user.garth.step").decode(), os.environ.get("GARTH_STEP", ""))


@hashed
def hash_follows_its_file():
    for i in range(12):
        write("a%d" % i, b"a%d" % i)
        write("b%d" % i, b"b%d" % i)
        os.rename("a%d" % i, "t")
        os.rename("b%d" % i, "a%d" % i)
        os.rename("t", "b%d" % i)
        write("c%d" % i, b"old")
        os.unlink("c%d" % i)
        write("c%d" % i, b"new %d" % i)
    for n in os.listdir("."):
        settled(n)


@hashed
def hash_of_many_writers_is_that_of_the_end():
    write("f", bytes(3000))

    def writer(me):
        fd = os.open("f", os.O_WRONLY)
        for i in range(100):
            os.pwrite(fd, bytes([me]) * 10, me * 1000 + i * 10)
        time.sleep(0.05 * me)
        os.close(fd)

    for pid in [child(lambda m=m: writer(m)) for m in range(3)]:
        ended(pid)
    settled("f")


@case
def links_do_not_lead_out_of_input():
    given = os.path.join(WS, "input", os.environ.get("GIVEN", "given.txt"))
    before = read(given)
    fails((errno.EROFS, errno.EXDEV), os.link, given, "hard")
    fd = os.open(given, os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    same(libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"hard", AT_SYMLINK_FOLLOW), -1, "a link through /proc")
    assert ctypes.get_errno() in (errno.EROFS, errno.EXDEV), ctypes.get_errno()
    os.symlink(given, "soft")
    for f in (lambda: open("soft", "r+b"), lambda: os.truncate("soft", 0), lambda: os.chmod("soft", 0o777), lambda: os.utime("soft"),
              lambda: os.setxattr("soft", "user.x", b"1"), lambda: os.fchmod(fd, 0o777)):
        fails(errno.EROFS, f)
    os.close(fd)
    same(read(given), before)


@case
def symlinks_are_plain_texts():
    for text in ("/etc/passwd", "../../../../etc/shadow", "nowhere", "x" * 4000):
        os.symlink(text, "l")
        same(os.readlink("l"), text)
        os.unlink("l")


run_all()
