# SPDX-License-Identifier: MIT
"""Names, folders, links and attributes."""
import ctypes
import errno
import os
import shutil
import subprocess

from case import case, child, ended, fails, read, run_all, same, write, Skip


@case
def odd_names_come_back():
    names = [b"\xff\xfe", b"new\nline", b"quote'\"", b"tab\t", b"-rf", b" lead", b"trail ", b"A", b"a", b"\xc3\xa9", b"e\xcc\x81", b"\\", b"*",
             b"\x01\x7f", b"\xf0\x9f\x8c\xbb", b".hidden", b"...", b"n" * 255]
    for i, n in enumerate(names):
        write(n, b"%d" % i)
    same(sorted(os.listdir(b".")), sorted(names))
    for i, n in enumerate(names):
        same(read(n), b"%d" % i)
        os.rename(n, b"x")
        os.link(b"x", n)
        os.unlink(b"x")
        os.unlink(n)
    same(os.listdir(b"."), [])
    fails(errno.ENAMETOOLONG, write, b"n" * 256, b"")


@case
def hard_links_are_one_file():
    write("a", b"1")
    os.link("a", "b")
    same((os.stat("a").st_ino, os.stat("b").st_nlink), (os.stat("b").st_ino, 2))
    write("b", b"2", "ab")
    same(read("a"), b"12")
    os.chmod("a", 0o600)
    same(os.stat("b").st_mode & 0o777, 0o600)
    os.rename("a", "b")
    same(sorted(os.listdir(".")), ["a", "b"], "after a rename between two names of one file")
    subprocess.run("tar cf t.tar a b && mkdir x && tar xf t.tar -C x && cp -a a b x && test $(stat -c %h x/a) -ge 2", shell=True, check=True)
    os.unlink("a")
    same((read("b"), os.stat("b").st_nlink), (b"12", 1))


@case
def large_tree_goes_in_one_go():
    for tool in ("rm -rf t", "find t -delete", None):
        for i in range(60):
            os.makedirs("t/%d/d" % i)
            for k in range(8):
                write("t/%d/%d" % (i, k), b"")
        if tool:
            subprocess.run(tool.split(), check=True)
        else:
            shutil.rmtree("t")
        same(os.path.exists("t"), False)


@case
def places_in_a_listing_are_remembered():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.opendir.restype = ctypes.c_void_p
    libc.readdir.restype = ctypes.c_void_p
    libc.telldir.restype = ctypes.c_long
    for f in (libc.readdir, libc.rewinddir, libc.closedir, libc.telldir):
        f.argtypes = [ctypes.c_void_p]
    libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
    for i in range(400):
        write("f%03d" % i, b"")
    d = libc.opendir(b".")

    def rest(limit=10**6):
        out = []
        while len(out) < limit:
            e = libc.readdir(d)
            if not e:
                break
            out.append(ctypes.string_at(e + 19))
        return out

    rest(100)
    place = libc.telldir(d)
    first = rest()
    libc.seekdir(d, place)
    same(rest(), first, "the rest, again")
    write("new", b"")
    os.unlink("f000")
    libc.rewinddir(d)
    now = rest()
    same((b"new" in now, b"f000" in now, len(now)), (True, False, 402))
    libc.closedir(d)


@case
def folder_removed_while_open():
    for i in range(300):
        os.mkdir("d")
        fd = os.open("d", os.O_RDONLY)
        os.rmdir("d")
        same(os.listdir(fd), [])
        os.close(fd)


@case
def unlink_of_an_open_file_empties_its_folder():
    os.mkdir("d")
    f = open("d/f", "wb")
    os.unlink("d/f")
    same(os.listdir("d"), [])
    os.rmdir("d")
    f.write(b"still")
    f.close()


@case
def cwd_stays_where_it_is():
    os.mkdir("w")
    os.chdir("w")
    here = os.getcwd()
    ended(child(lambda: [write(here + "/by-another-%d" % i, b"") for i in range(80)]))
    for i in range(80):
        write("f%d" % i, b"")
        same(os.getcwd(), here)
    same(os.readlink("/proc/self/cwd"), here)
    os.chdir("..")


@case
def renames_stay_inside():
    os.makedirs("a/b")
    os.mkdir("c")
    write("a/b/f", b"x")
    os.rename("a/b/f", "c/f")
    os.rename("a/b", "c/b")
    os.link("c/f", "a/l")
    os.replace("c/f", "a/l")
    fails((errno.EINVAL,), os.rename, "c", "c/b/c")
    fails((errno.ENOTEMPTY, errno.EEXIST), os.rename, "a", "c")


@case
def rename_flags_are_honoured():
    libc = ctypes.CDLL(None, use_errno=True)
    write("a", b"a")
    write("b", b"b")
    if libc.renameat2(-100, b"a", -100, b"b", 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")
    same((read("a"), read("b")), (b"b", b"a"))
    same((libc.renameat2(-100, b"a", -100, b"b", 1), ctypes.get_errno()), (-1, errno.EEXIST))


@case
def exclusive_create_has_one_winner():
    r, w = os.pipe()

    def racer(me):
        won = 0
        for i in range(60):
            try:
                os.close(os.open("lock%d" % i, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                won += 1
            except FileExistsError:
                pass
        os.write(w, b"%04d" % won)

    for pid in [child(lambda m=m: racer(m)) for m in range(4)]:
        ended(pid)
    same(sum(int(os.read(r, 4)) for _ in range(4)), 60)


@case
def own_attributes_are_kept():
    write("f", b"")
    os.setxattr("f", "user.note", b"\x00bytes\xff")
    same(os.getxattr("f", "user.note"), b"\x00bytes\xff")
    assert "user.note" in os.listxattr("f")
    fails(errno.EEXIST, os.setxattr, "f", "user.note", b"2", os.XATTR_CREATE)
    os.removexattr("f", "user.note")
    fails(errno.ENODATA, os.getxattr, "f", "user.note")


@case
def mode_bits_hold():
    write("f", b"x")
    for mode in (0o600, 0o640, 0o755, 0o444):
        os.chmod("f", mode)
        same(os.stat("f").st_mode & 0o7777, mode)
    if os.getuid() == 0:
        raise Skip("root reads everything")
    os.chmod("f", 0)
    fails(errno.EACCES, open, "f")
    os.mkdir("d", 0o700)
    write("d/f", b"")
    os.chmod("d", 0o600)
    fails(errno.EACCES, os.stat, "d/f")
    os.chmod("d", 0o700)


@case
def foreign_owners_in_archives_do_no_harm():
    os.mkdir("in")
    write("in/f", b"x")
    subprocess.run("tar --owner=1169 --group=1169 -cf t.tar in && mkdir out && tar xf t.tar -C out", shell=True, check=True)
    same(read("out/in/f"), b"x")
    shutil.rmtree("out")


@case
def space_is_told():
    st = os.statvfs(".")
    assert st.f_bsize > 0 and st.f_blocks > 0 and st.f_namemax == 255, st


run_all()
