# SPDX-License-Identifier: MIT
"""Files that are unlinked, cut, mapped, replaced, copied and locked while somebody holds them."""
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import struct
import time

from case import case, child, ended, fails, read, run_all, same, write, Skip

AT_SYMLINK_FOLLOW = 0x400


@case
def unlinked_file_lives_on():
    for flags in (0, os.O_SYNC, os.O_APPEND):
        fd = os.open("f", os.O_CREAT | os.O_RDWR | flags)
        os.unlink("f")
        same(os.write(fd, b"hello"), 5)
        os.fchmod(fd, 0o640)
        os.utime(fd, ns=(5, 7))
        st = os.fstat(fd)
        same((st.st_nlink, st.st_mtime_ns, st.st_mode & 0o777, st.st_size), (0, 7, 0o640, 5))
        os.fsync(fd)
        same(os.pread(fd, 9, 0), b"hello")
        again = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
        os.ftruncate(fd, 2)
        same(os.read(again, 9), b"he")
        os.close(again)
        os.close(fd)
        same(os.listdir("."), [])


@case
def truncate_by_path_beside_a_reader():
    write("f", b"0123456789")
    fd = os.open("f", os.O_RDONLY)
    for size in (4, 12, 0, 7):
        os.truncate("f", size)
        same(os.fstat(fd).st_size, size)
    same(os.pread(fd, 20, 0), bytes(7))
    fails((errno.EINVAL, errno.EBADF), os.ftruncate, fd, 1)
    os.close(fd)


@case
def mapping_and_pread_are_one_memory():
    size = 1 << 20
    fd = os.open("f", os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, size)
    with mmap.mmap(fd, size) as m:
        other = os.open("f", os.O_RDWR)
        for i in range(300):
            at = (i * 40503) % (size - 8)
            m[at:at + 8] = struct.pack("<Q", i)
            same(os.pread(other, 8, at), struct.pack("<Q", i), "pread after a store")
            os.pwrite(other, struct.pack("<Q", ~i & 0xffff), at)
            same(m[at:at + 8], struct.pack("<Q", ~i & 0xffff), "the mapping after pwrite")
        os.close(other)
    os.close(fd)


@case
def saved_by_rename_while_open_and_mapped():
    write("f", b"version 0")
    held = open("f", "rb")
    seen = mmap.mmap(held.fileno(), 0, prot=mmap.PROT_READ)
    for i in range(1, 200):
        write("f.tmp", b"version %d" % i)
        os.rename("f.tmp", "f")
        same(read("f"), b"version %d" % i)
    same(held.read(), b"version 0")
    same(seen[:], b"version 0")
    same(sorted(os.listdir(".")), ["f"])


@case
def content_of_another_size_is_seen_at_once():
    ready_r, ready_w = os.pipe()
    go_r, go_w = os.pipe()
    texts = [b"short", b"x" * 9000, b"", b"middle" * 50, b"s"] * 8
    write("f", b"first")

    def looker():
        os.stat("f"), read("f")
        os.write(ready_w, b".")
        for text in texts:
            os.read(go_r, 1)
            same(os.stat("f").st_size, len(text), "its size")
            same(read("f"), text, "its bytes")
            os.write(ready_w, b".")

    pid = child(looker)
    os.read(ready_r, 1)
    for i, text in enumerate(texts):
        if i % 3 == 2:
            write("g", text)
            os.rename("g", "f")
        else:
            write("f", text)
        os.write(go_w, b".")
        if os.read(ready_r, 1) != b".":
            break
    ended(pid)


@case
def one_name_used_again_and_again():
    for i in range(120):
        write("n", b"1")
        os.unlink("n")
        os.close(os.open("n", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.rename("n", "away")
        os.mkdir("n")
        os.rmdir("n")
        os.symlink("away", "n")
        os.unlink("n")
        os.link("away", "n")
        os.unlink("away")
        os.unlink("n")
    same(os.listdir("."), [])


@case
def times_are_kept_to_the_nanosecond():
    write("f", b"")
    os.symlink("f", "l")
    os.utime("f", ns=(1234567890123456789, 987654321987654321))
    os.utime("l", ns=(1, 2), follow_symlinks=False)
    st = os.stat("f")
    same((st.st_atime_ns, st.st_mtime_ns), (1234567890123456789, 987654321987654321))
    same(os.lstat("l").st_mtime_ns, 2)
    before = time.time_ns()
    os.utime("f")
    assert os.stat("f").st_mtime_ns >= before - 10**9


@case
def copies_by_the_kernel_are_whole():
    data = os.urandom(1 << 20) * 3 + b"tail"
    write("a", data)
    a, b = os.open("a", os.O_RDONLY), os.open("b", os.O_CREAT | os.O_RDWR)
    left = len(data)
    try:
        while left:
            n = os.copy_file_range(a, b, left)
            assert n > 0, "0 before the end"
            left -= n
        same(os.copy_file_range(a, b, 10), 0, "past the end")
    except OSError as e:
        if e.errno not in (errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP) or left != len(data):
            raise
    else:
        same(read("b") == data, True, "the copy is equal")
    c = os.open("c", os.O_CREAT | os.O_WRONLY)
    left, at = len(data), 0
    while left:
        n = os.sendfile(c, a, at, left)
        at, left = at + n, left - n
    same(read("c") == data, True, "the sent copy is equal")
    for fd in (a, b, c):
        os.close(fd)


@case
def offsets_past_4_gib():
    fd = os.open("f", os.O_CREAT | os.O_RDWR)
    marks = [0, (1 << 31) - 2, (1 << 32) - 2, (1 << 32) + 77, 5 << 30]
    try:
        for at in marks:
            os.pwrite(fd, b"%012d" % at, at)
    except OSError as e:
        os.close(fd)
        if e.errno == errno.EFBIG:
            raise Skip("the policy's file limit is lower")
        raise
    for at in marks:
        same(os.pread(fd, 12, at), b"%012d" % at)
    same(os.pread(fd, 4, 1 << 20), bytes(4), "the hole")
    same(os.lseek(fd, 0, os.SEEK_END), (5 << 30) + 12)
    assert os.lseek(fd, 1 << 20, os.SEEK_HOLE) < 1 << 31
    os.ftruncate(fd, (1 << 32) - 1)
    same(os.fstat(fd).st_size, (1 << 32) - 1)
    os.close(fd)


@case
def anonymous_file_is_linked_in():
    try:
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
    except OSError as e:
        if e.errno in (errno.EOPNOTSUPP, errno.EISDIR):
            raise Skip("no O_TMPFILE on this kernel's FUSE")
        raise
    os.write(fd, b"x")
    same(os.listdir("."), [])
    if ctypes.CDLL(None, use_errno=True).linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"f", AT_SYMLINK_FOLLOW) != 0:
        raise OSError(ctypes.get_errno(), "linkat")
    os.close(fd)
    same(read("f"), b"x")


@case
def locks_are_granted_and_die_with_their_holder():
    write("f", b"x")
    a, b = open("f", "r+b"), open("f", "r+b")
    fcntl.flock(a, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fails(errno.EAGAIN, fcntl.flock, b, fcntl.LOCK_SH | fcntl.LOCK_NB)
    a.close()
    fcntl.flock(b, fcntl.LOCK_SH | fcntl.LOCK_NB)
    fcntl.flock(b, fcntl.LOCK_UN)
    r, w = os.pipe()

    def holder():
        f = open("f", "r+b")
        fcntl.lockf(f, fcntl.LOCK_EX)
        os.write(w, b".")
        time.sleep(60)

    pid = child(holder)
    os.read(r, 1)
    fails((errno.EAGAIN, errno.EACCES), fcntl.lockf, b, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    fcntl.lockf(b, fcntl.LOCK_EX | fcntl.LOCK_NB)


@case
def descriptions_locks_exclude_each_other():
    lock = struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)
    F_OFD_SETLK = 37
    write("f", b"x")
    a, b, c = (open("f", "r+b") for _ in range(3))
    fcntl.fcntl(a, F_OFD_SETLK, lock)
    fails((errno.EAGAIN, errno.EACCES), fcntl.fcntl, b, F_OFD_SETLK, lock)
    c.close()  # of the same process: must not let go
    fails((errno.EAGAIN, errno.EACCES), fcntl.fcntl, b, F_OFD_SETLK, lock)
    a.close()
    fcntl.fcntl(b, F_OFD_SETLK, lock)


@case
def storm_of_attributes_leaves_it_alive():
    def storm(seed):
        end, i = time.time() + 1.5, seed
        while time.time() < end:
            i = i * 1103515245 + 12345 & 0x7fffffff
            name = "n%d" % (i >> 8 & 3)
            try:
                (lambda: write(name, b"x" * (i & 63)), lambda: os.utime(name), lambda: os.chmod(name, 0o600 | i & 0o77),
                 lambda: os.truncate(name, i & 7), lambda: os.rename(name, "n%d" % (i >> 4 & 3)), lambda: os.stat(name),
                 lambda: os.unlink(name))[(i >> 12) % 7]()
            except FileNotFoundError:
                pass

    for pid in [child(lambda s=s: storm(s)) for s in range(1, 5)]:
        ended(pid)
    write("alive", b"yes")
    same(read("alive"), b"yes")


run_all()
