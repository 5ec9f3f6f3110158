# SPDX-License-Identifier: MIT
"""
_zones_probe - run inside a sandbox as agent a: tries every kind of operation in every zone and compares with the table of docs/POLICY.md.
Prints PASS or FAIL lines, and last `violations N`: how many refusals by policy the record must hold for this step.
Part of 02-zones.sh, which lays out the files that are tried here.
"""
import errno
import os
import socket
import stat

WS = "/workspace"
EROFS, EACCES, OK = errno.EROFS, errno.EACCES, 0
refusals = 0


def path(p):
    return os.path.join(WS, p) if p else WS


def op_create(p):
    os.close(os.open(path(p) + ".new", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o666))
    os.unlink(path(p) + ".new")


def op_write(p):
    fd = os.open(path(p), os.O_WRONLY)
    os.write(fd, b"x")
    os.close(fd)


def op_append(p):
    os.close(os.open(path(p), os.O_WRONLY | os.O_APPEND))


def op_readwrite(p):
    os.close(os.open(path(p), os.O_RDWR))


def op_open_truncate(p):
    os.close(os.open(path(p), os.O_WRONLY | os.O_TRUNC))


def op_truncate(p):
    os.truncate(path(p), 1)


def op_mkdir(p):
    os.mkdir(path(p) + ".dir")
    os.rmdir(path(p) + ".dir")


def op_rmdir(p):
    os.rmdir(os.path.dirname(path(p)) + "/empty")
    os.mkdir(os.path.dirname(path(p)) + "/empty")


def op_unlink(p):
    data = open(path(p), "rb").read()
    os.unlink(path(p))
    open(path(p), "wb").write(data)


def op_rename_away(p):
    os.rename(path(p), path("output/taken"))
    os.rename(path("output/taken"), path(p))


def op_rename_here(p):
    open(path("output/brought"), "w").close()
    try:
        os.rename(path("output/brought"), path(p) + ".brought")
    except OSError:
        os.unlink(path("output/brought"))
        raise
    os.unlink(path(p) + ".brought")


def op_rename_within(p):
    os.rename(path(p), path(p) + ".moved")
    os.rename(path(p) + ".moved", path(p))


def op_link_out(p):
    os.link(path(p), path("output/linked"))
    os.unlink(path("output/linked"))


def op_link_here(p):
    with open(path("output/source"), "w"):
        pass
    try:
        os.link(path("output/source"), path(p) + ".link")
        os.unlink(path(p) + ".link")
    finally:
        os.unlink(path("output/source"))


def op_symlink(p):
    os.symlink("x", path(p) + ".sym")
    os.unlink(path(p) + ".sym")


def op_mknod(p):
    os.mknod(path(p) + ".nod", stat.S_IFREG | 0o644)
    os.unlink(path(p) + ".nod")


def op_fifo(p):
    os.mkfifo(path(p) + ".fifo")
    os.unlink(path(p) + ".fifo")


def op_socket(p):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.bind(path(p) + ".sock")
        os.unlink(path(p) + ".sock")
    finally:
        s.close()


def op_chmod(p):
    os.chmod(path(p), 0o664)


def op_chown(p):
    os.chown(path(p), os.getuid(), -1)


def op_utime(p):
    os.utime(path(p))


def op_setxattr(p):
    os.setxattr(path(p), "user.mine", b"1")
    os.removexattr(path(p), "user.mine")


def op_xattr_reserved(p):
    os.setxattr(path(p), "user.garth.sha256", b"1")


def op_xattr_reserved_removed(p):
    os.removexattr(path(p), "user.garth.sha256")


CHANGES = {n[3:]: f for n, f in list(globals().items()) if n.startswith("op_")}
SPECIAL = ("fifo", "socket")
RESERVED = ("xattr_reserved", "xattr_reserved_removed")
ACROSS_TASK = ("rename_away", "rename_here", "link_out", "link_here")  # the kernel's EXDEV, which nobody is asked about


def expect(name, want, f, *args, recorded=True):
    """A refusal by policy is counted: the record must have it."""
    global refusals
    try:
        f(*args)
        got = OK
    except OSError as e:
        got = e.errno
    wanted = want if isinstance(want, tuple) else (want,)
    if recorded and got in (EROFS, EACCES) and got in wanted:
        refusals += 1
    say = lambda e: errno.errorcode.get(e, "ok")
    if got in wanted:
        print("PASS", name)
    else:
        print("FAIL %s: %s, not %s" % (name, say(got), " or ".join(map(say, wanted))))


def zone(name, file, want):
    for op, f in CHANGES.items():
        w = want
        if op in RESERVED:
            w = EROFS if want == EROFS else EACCES
        elif op in SPECIAL and want == OK and name != "task":
            w = EACCES
        elif op in ACROSS_TASK and name == "task":
            w = errno.EXDEV
        expect("%s_in_%s" % (op, name), w, f, file)


def read(p):
    with open(path(p), "rb") as f:
        f.read()


def reading():
    for p in ("input/dir/f", "output/b.txt", "agents/b/dir/f", "agents/a/dir/f"):
        expect("read_" + p.replace("/", "_"), OK, read, p)
    for p in ("", "input", "task", "output", "agents", "agents/b", "logs"):
        expect("list_" + (p.replace("/", "_") or "root"), OK, os.listdir, path(p))
        expect("stat_" + (p.replace("/", "_") or "root"), OK, os.stat, path(p))
    names = sorted(os.listdir(path("")))
    expect("the_root_holds_the_zones_alone", OK, lambda: names == ["agents", "input", "logs", "output", "task"] or os.stat("/no/" + str(names)))


def no_change(p, mode):
    if os.access(path(p), mode):
        raise OSError(0, "permitted")
    raise PermissionError(EACCES, "as it should be")


def the_root():
    for op in ("create", "mkdir", "symlink", "mknod", "fifo", "socket", "rename_here", "link_here"):
        expect(op + "_in_root", EACCES, CHANGES[op], "new")
    for top in ("output", "agents", "logs"):
        expect("rename_" + top, EACCES, os.rename, path(top), path("output2"))
        expect("rmdir_" + top, EACCES, os.rmdir, path(top))
        expect("mkdir_" + top, errno.EEXIST, os.mkdir, path(top), recorded=False)
    expect("rename_input", EROFS, os.rename, path("input"), path("input2"))
    expect("rmdir_input", EROFS, os.rmdir, path("input"))
    expect("chmod_input", EROFS, os.chmod, path("input"), 0o777)
    expect("rename_task", errno.EBUSY, os.rename, path("task"), path("task2"))
    expect("rmdir_task", errno.EBUSY, os.rmdir, path("task"))
    expect("chmod_root", EACCES, os.chmod, path(""), 0o777)
    expect("rename_a_folder_onto_output", (EACCES, errno.ENOTEMPTY, errno.EEXIST), os.rename, path("agents/a/dir/empty"), path("output"))


def areas():
    expect("mkdir_agents_new", EACCES, os.mkdir, path("agents/new"))
    expect("rename_own_area", EACCES, os.rename, path("agents/a"), path("agents/z"))
    expect("rmdir_own_area", EACCES, os.rmdir, path("agents/a"))
    expect("rename_foreign_area", EACCES, os.rename, path("agents/b"), path("agents/z"))
    expect("rename_foreign_area_away", EACCES, os.rename, path("agents/b"), path("output/b"))
    expect("chmod_agents", EACCES, os.chmod, path("agents"), 0o777)
    expect("chmod_own_area", OK, os.chmod, path("agents/a"), 0o775)
    expect("chmod_foreign_area", EACCES, os.chmod, path("agents/b"), 0o777)


def logs(other):
    own = os.environ["GARTH_STEP"]
    listed = os.listdir(path("logs"))
    expect("foreign_logs_are_not_listed", OK, lambda: other not in listed or os.stat("/no/foreign/logs"))
    expect("foreign_logs_are_not_there", errno.ENOENT, os.stat, path("logs/" + other))
    expect("foreign_logs_cannot_be_read", errno.ENOENT, read, "logs/%s/stdout" % other)
    expect("own_logs_are_there", OK, os.listdir, path("logs/" + own))
    expect("own_logs_can_be_read", OK, read, "logs/%s/stdout" % own)
    for op in ("write", "append", "truncate", "unlink", "rename_away", "link_out", "chmod", "utime", "setxattr"):
        expect(op + "_in_logs", EACCES, CHANGES[op], "logs/%s/stdout" % own)
    for op in ("create", "mkdir", "symlink", "rename_here"):
        expect(op + "_in_logs", EACCES, CHANGES[op], "logs/new")


def access():
    """access(2) asks and is no violation"""
    for p in ("input/dir/f", "agents/b/dir/f"):
        expect("access_w_" + p.replace("/", "_"), EACCES, no_change, p, os.W_OK, recorded=False)
    expect("access_r_input", OK, lambda: os.access(path("input/dir/f"), os.R_OK) or os.stat("/no"))


def mapped():
    fd = os.open(path("input/dir/f"), os.O_RDONLY)
    expect("ftruncate_of_a_read_only_descriptor", (errno.EINVAL, errno.EBADF), os.ftruncate, fd, 0, recorded=False)
    expect("reopen_for_writing_through_proc", EROFS, lambda: os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY)))
    expect("fchmod_through_a_descriptor", EROFS, os.fchmod, fd, 0o666)
    os.close(fd)


def tmpfile(p, want):
    expect("tmpfile_in_" + p.split("/")[0], (want, errno.EOPNOTSUPP), lambda: os.close(os.open(path(p), os.O_TMPFILE | os.O_RDWR, 0o600)))


def main():
    reading()
    zone("input", "input/dir/f", EROFS)
    zone("area_of_b", "agents/b/dir/f", EACCES)
    zone("own_area", "agents/a/dir/f", OK)
    zone("output", "output/dir/f", OK)
    os.mkdir("/workspace/task/dir")
    os.mkdir("/workspace/task/dir/empty")
    open("/workspace/task/dir/f", "w").write("x")
    zone("task", "task/dir/f", OK)
    tmpfile("input/dir", EROFS)
    tmpfile("output/dir", OK)
    the_root()
    areas()
    logs(os.environ["FOREIGN"])
    access()
    mapped()
    print("violations", refusals)


if __name__ == "__main__":
    main()
