# SPDX-License-Identifier: MIT
"""What code in a sandbox must not find or be able to do."""
import ctypes
import errno
import os
import socket
import subprocess

from case import case, fails, run_all, same

libc = ctypes.CDLL(None, use_errno=True)
KNOWN = {"HOME", "PATH", "LANG", "LC_ALL", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "MPLBACKEND", "MPLCONFIGDIR", "WS", "ZONE",
         "GIVEN", "TERM", "TZ", "HOSTNAME", "LC_CTYPE"}


def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return line.split()[1]


@case
def no_capabilities_no_new_privileges():
    same([int(status(k), 16) for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")], [0] * 5)
    same((status("NoNewPrivs"), status("Seccomp")), ("1", "2"))


@case
def environment_holds_what_is_documented():
    odd = [k for k in os.environ if k not in KNOWN and not k.startswith(("GARTH_", "PYTHON")) and not k.endswith(("_NUM_THREADS", "_MAX_THREADS", "_MAXIMUM_THREADS"))]
    same(odd, [])
    assert not [k for k in os.environ if "KEY" in k or "TOKEN" in k or "SECRET" in k]


@case
def no_descriptors_but_three():
    same(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:3], [0, 1, 2])
    listing = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    open_now = {int(fd) for fd in os.listdir(listing)} - {listing}
    os.close(listing)
    assert len(open_now) <= 5, open_now  # this file, and the copy of the listing's descriptor


@case
def pid_1_is_out_of_reach():
    same([p for p in os.listdir("/proc") if p.isdigit() and int(p) == 1] in ([], ["1"]), True)
    for f in ("/proc/1/exe", "/proc/1/mem", "/proc/1/environ"):
        fails((errno.EACCES, errno.EPERM, errno.ENOENT), open, f, "rb")
    fails((errno.EACCES, errno.EPERM, errno.ENOENT), os.listdir, "/proc/1/fd")
    fails((errno.EPERM, errno.ESRCH), os.kill, 1, 9)


@case
def no_way_to_the_network():
    same([n for _, n in socket.if_nameindex()], ["lo"])
    s = socket.socket()
    s.settimeout(3)
    fails((errno.ENETUNREACH, errno.EACCES, errno.EPERM), s.connect, ("192.0.2.1", 80))
    try:
        socket.getaddrinfo("example.org", 80)
        raise AssertionError("a name was resolved")
    except socket.gaierror:
        pass


@case
def no_mounts_no_namespaces_no_tracing():
    for name, args in (("mount", (b"none", b"/tmp", b"tmpfs", 0, None)), ("umount2", (b"/workspace", 2)), ("unshare", (0x10000000,)), ("unshare", (0x20000,)),
                       ("chroot", (b"/tmp",)), ("sethostname", (b"x", 1)), ("setuid", (0,)), ("ptrace", (16, 1, 0, 0))):
        if getattr(libc, name)(*args) == 0:
            raise AssertionError("%s%r went through" % (name, args))


@case
def the_system_is_read_only():
    for p in ("/usr/x", "/etc/x", "/x", "/bin/x", "/proc/sys/kernel/hostname", "/sys/x", "/run/garth/x"):
        fails((errno.EROFS, errno.EACCES, errno.ENOENT, errno.EPERM), open, p, "w")
    for p in ("/root", "/var/lib/garth", "/home/user/../../root", "/boot"):
        try:
            same(os.listdir(p), [], "what is in " + p)
        except OSError as e:
            assert e.errno in (errno.ENOENT, errno.EACCES), e


@case
def set_user_id_programs_give_nothing():
    for program in (["sudo", "-n", "true"], ["su", "-c", "true"]):
        try:
            same(subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0, True)
        except FileNotFoundError:
            pass
    same(os.getuid() != 0 or status("CapEff") == "0000000000000000", True)


run_all()
