#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""reroot.py PROGRAM [ARG]... - starts a program with the chroot it is in as a root of its own.

The kernel refuses user namespaces in a chroot, and garth needs them. So for tests and the example
in a chroot that tree becomes the root of a new mount namespace: nothing more can be seen there.
Not for servers: what is mounted in it is not seen from outside. Outside of a chroot it does nothing.
"""
import ctypes
import errno
import os
import sys

SYS_OPEN_TREE, SYS_MOVE_MOUNT = 428, 429  # the same on all architectures
AT_FDCWD = -100
AT_RECURSIVE = 0x8000
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH = 4
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def call(what, result):
    if result < 0:
        number = ctypes.get_errno()
        sys.exit(f"reroot: {what}: {os.strerror(number)}")
    return result


def user_namespaces_refused():
    """As the kernel does in a chroot; asked by a child, so nothing changes here."""
    child = os.fork()
    if child == 0:
        os._exit(1 if libc.unshare(CLONE_NEWUSER) < 0 and ctypes.get_errno() == errno.EPERM else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def reroot():
    cwd = os.getcwd()
    call("unshare", libc.unshare(CLONE_NEWNS))
    tree = call("open_tree", libc.syscall(SYS_OPEN_TREE, AT_FDCWD, b"/", OPEN_TREE_CLONE | AT_RECURSIVE))
    ours = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    # Entering the namespace one is in already leads to its root, out of the chroot ...
    call("setns", libc.setns(ours, CLONE_NEWNS))
    call("mount", libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    call("move_mount", libc.syscall(SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, b"/", MOVE_MOUNT_F_EMPTY_PATH))
    # ... and once more to what covers it now.
    call("setns", libc.setns(ours, CLONE_NEWNS))
    os.close(ours)
    os.close(tree)
    os.chdir(cwd)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: reroot.py PROGRAM [ARG]...")
    if os.geteuid() == 0 and user_namespaces_refused():
        reroot()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
