#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 240
"""On a disk that agents have filled there is room for garth itself: writes are refused, steps begin, end and are recorded, removals work."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from garthtest import TMP, Server, SkipTest, need_root, run

server = None
IMAGE_MIB, RESERVE_MIB = 320, 64
base = None


def free_mib():
    s = os.statvfs(base + "/mnt")
    return s.f_bavail * s.f_frsize >> 20


def clean():
    if server:
        server.cleanup()
    if base:
        subprocess.run(["umount", base + "/mnt"], stderr=subprocess.DEVNULL)
        shutil.rmtree(base, ignore_errors=True)


def test_setup():
    global server, base
    need_root()
    base = os.path.join(TMP, "garth-disk-%d" % os.getpid())
    os.makedirs(base + "/mnt")
    with open(base + "/image", "wb") as f:
        f.truncate(IMAGE_MIB << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", base + "/image"], check=True)
    if subprocess.run(["mount", "-o", "loop", base + "/image", base + "/mnt"], stderr=subprocess.DEVNULL).returncode != 0:
        raise SkipTest("no loop devices here")
    server = Server(data=base + "/mnt/data")
    server.workspace(agents=("a", "b"))


def on_disk(test):
    """a case that needs what test_setup has made"""
    def case():
        if server is None:
            raise SkipTest("no disk of its own")
        test()
    case.__name__ = test.__name__
    return case


def fill(name):
    return """
import errno, os
n = 0
with open('/workspace/%s', 'wb', buffering=0) as f:
    try:
        while n < 400 << 20:
            n += f.write(b'x' * (1 << 20))
    except OSError as e:
        print(errno.errorcode[e.errno])
""" % name


@on_disk
def test_an_agent_is_told_enospc_before_the_disk_is_full():
    a = server.step("w", "a", fill("output/big"))
    assert a["exit_code"] == 0 and a["stdout"].strip() == "ENOSPC", a
    assert RESERVE_MIB - 8 <= free_mib() <= RESERVE_MIB + 8, free_mib()


@on_disk
def test_no_way_of_writing_takes_the_reserve():
    code = """
import errno, os
def why(fn):
    try:
        fn()
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
def write(p):
    with open(p, 'wb', buffering=0) as f: f.write(b'y' * (4 << 20))
def allocate():
    fd = os.open('/workspace/agents/b/alloc', os.O_RDWR | os.O_CREAT); os.posix_fallocate(fd, 0, 8 << 20)
def many():
    for i in range(20000): os.mkdir('/workspace/agents/b/d%d' % i)
print(why(lambda: write('/workspace/agents/b/f')), why(lambda: write('/workspace/task/f')), why(allocate), why(many))
"""
    b = server.step("w", "b", code)
    assert b["exit_code"] == 0, b
    assert b["stdout"].split() == ["ENOSPC"] * 4, b["stdout"]
    assert free_mib() >= RESERVE_MIB - 8, free_mib()


@on_disk
def test_steps_are_recorded_and_their_output_is_seen():
    for i in range(5):
        a = server.step("w", "a", "print('step %d')" % i)
        assert a["exit_code"] == 0, a
    assert server.verify("w")["ok"]


@on_disk
def test_logs_leave_the_reserve_too():
    a = server.step("w", "a", "import sys\nfor i in range(16): sys.stdout.write('z' * (1 << 20))")
    assert a["exit_code"] == 0, a
    assert free_mib() >= RESERVE_MIB - 8, free_mib()


@on_disk
def test_to_remove_works_and_gives_room():
    a = server.step("w", "a", "import os; os.unlink('/workspace/output/big')")
    assert a["exit_code"] == 0, a
    b = server.step("w", "b", "open('/workspace/agents/b/small', 'w').write('s')")
    assert b["exit_code"] == 1 and "No space" in b["stderr"], b  # the bytes of output/big are a kept version: retention lets them go
    assert b["reason"] == "disk", b
    a = server.step("w", "b", "import os; os.unlink('/workspace/agents/b/f'); os.unlink('/workspace/agents/b/alloc')")
    assert a["exit_code"] == 0, a
    assert server.verify("w")["ok"]


@on_disk
def test_a_wiped_task_gives_room_again():
    server.http("DELETE", "/v1/workspaces/w")
    server.workspace("v", agents=("a",))
    until = time.time() + 10
    while free_mib() < 2 * RESERVE_MIB and time.time() < until:
        time.sleep(0.2)
    a = server.step("v", "a", fill("task/big"))
    assert a["stdout"].strip() == "ENOSPC", a
    a = server.step("v", "a", "import time; time.sleep(1); open('/workspace/output/f', 'w').write('f')")
    assert a["exit_code"] == 0, a["stderr"]
    assert server.verify("v")["ok"]


try:
    run(test_setup, test_an_agent_is_told_enospc_before_the_disk_is_full, test_no_way_of_writing_takes_the_reserve,
        test_steps_are_recorded_and_their_output_is_seen, test_logs_leave_the_reserve_too, test_to_remove_works_and_gives_room,
        test_a_wiped_task_gives_room_again)
finally:
    clean()
