#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# run.py - starts a server of its own, measures steps and files beside the plain thing, prints medians and ratios (docs/BENCHMARKS.md).
# The ways are interleaved, so that a noisy machine is noisy for all of them.
# Not here: the measuring loops (step_bench.c, file_bench.c).
import argparse
import base64
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

READY_S = 60
WORKSPACE, AGENT = "bench", "bench"


class Server:
    def __init__(self, build, root):
        self.data = os.path.join(root, "data")
        self.proc = subprocess.Popen([os.path.join(build, "bin/garth"), "up", "--data", self.data, "--listen", "127.0.0.1:0"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(os.path.join(root, "log"), "w"), text=True)
        line = self.proc.stdout.readline()
        if "ready" not in line:
            sys.exit("bench: the server did not start: %s" % open(os.path.join(root, "log")).read()[-500:])
        self.url = line.split()[-1]
        with open(os.path.join(self.data, "admin.key")) as f:
            self.key = f.read().strip()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer " + self.key, "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=170) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as e:
            sys.exit("bench: %s %s: %s" % (method, path, e.read().decode()))

    def step(self, **body):
        step = self.call("POST", "/v1/workspaces/%s/steps" % WORKSPACE, dict(agent=AGENT, **body))
        if step["reason"] != "exited" or step["exit_code"] != 0:
            sys.exit("bench: a step failed: %s" % json.dumps(step)[:2000])
        return step

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        try:
            self.proc.wait(60)
        except subprocess.TimeoutExpired:
            self.proc.kill()


def samples(text):
    out = {}
    for line in text.splitlines():
        name, value = line.split()
        out.setdefault(name, []).append(float(value))
    return out


def tenth(values):
    return sorted(values)[len(values) // 10]


def steps(server, build, title, argv, rounds):
    live = server.call("POST", "/v1/workspaces/%s/sandboxes" % WORKSPACE, {"agent": AGENT, "lifetime_s": 600})
    live = live.get("sandbox") or live.get("id")
    port = server.url.rsplit(":", 1)[1]
    env = dict(os.environ, GARTH_API_KEY=server.key)
    command = [os.path.join(build, "bench/step_bench"), port, WORKSPACE, AGENT, live]
    subprocess.run(command + ["5"] + argv, env=env, check=True, stdout=subprocess.DEVNULL)  # warm
    got = samples(subprocess.run(command + [str(rounds)] + argv, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout)
    server.call("DELETE", "/v1/workspaces/%s/sandboxes/%s" % (WORKSPACE, live))
    base = statistics.median(got["plain"])
    rows = []
    for way, name in (("plain", "fork and exec"), ("live", "step in a live sandbox"), ("fresh", "step in a fresh sandbox")):
        m = statistics.median(got[way])
        rows.append({"what": title, "way": name, "n": rounds, "median_ms": m / 1e3, "p10_ms": tenth(got[way]) / 1e3, "ratio": m / base})
    return rows


def one_file_round(server, build, bare, number, small, mib):
    """Both ways once: {(what, way): value}."""
    program = os.path.join(build, "bench/file_bench")
    with open(program, "rb") as f:
        content = base64.b64encode(f.read()).decode()
    out = {}
    plain = subprocess.run([program, os.path.join(bare, "r%d" % number), str(small), str(mib)], check=True, stdout=subprocess.PIPE, text=True).stdout
    text = "cp file_bench /tmp/b && chmod +x /tmp/b && exec /tmp/b /workspace/output/r%d %d %d" % (number, small, mib)
    step = server.step(argv=["sh", "-c", text], files=[{"name": "file_bench", "content_base64": content}], timeout_s=170)
    for way, lines in (("bare folder", plain), ("output/ in a step", step["stdout"])):
        for what, values in samples(lines).items():
            out[what, way] = values[0]
    return out


def files(server, build, bare, rounds, small, mib):
    all_rounds = [one_file_round(server, build, bare, i, small, mib) for i in range(rounds + 1)][1:]
    rows = []
    for what, title, unit in (("create", "create, write 4 KiB, close", "us a file"), ("write", "write %d MiB in 1 MiB pieces" % mib, "MiB/s")):
        base = statistics.median(r[what, "bare folder"] for r in all_rounds)
        for way in ("bare folder", "output/ in a step"):
            m = statistics.median(r[what, way] for r in all_rounds)
            ratio = m / base if what == "create" else base / m
            rows.append({"what": title, "way": way, "n": rounds, "median": m, "unit": unit, "ratio": ratio})
    return rows


def machine():
    with open("/proc/cpuinfo") as f:
        cpu = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())
    return "%s, %d cpus, Linux %s, load %.1f" % (cpu, os.cpu_count(), platform.release(), os.getloadavg()[0])


def show(step_rows, file_rows):
    print("\n%-30s %-26s %6s %11s %9s %7s" % ("step, request to answer", "way", "n", "median ms", "p10 ms", "ratio"))
    for r in step_rows:
        print("%-30s %-26s %6d %11.2f %9.2f %7.2f" % (r["what"], r["way"], r["n"], r["median_ms"], r["p10_ms"], r["ratio"]))
    print("\n%-30s %-26s %6s %11s %9s %7s" % ("files", "way", "n", "median", "", "ratio"))
    for r in file_rows:
        print("%-30s %-26s %6d %11.1f %-9s %7.2f" % (r["what"], r["way"], r["n"], r["median"], r["unit"], r["ratio"]))
    print("\nratio: how many times as long as the first way")


def main():
    p = argparse.ArgumentParser(prog="bench/run.sh")
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=200, help="of steps with `true`; python3 gets a third")
    p.add_argument("--file-rounds", type=int, default=7)
    p.add_argument("--small", type=int, default=1000, help="small files a round")
    p.add_argument("--mib", type=int, default=128, help="size of the large file")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    root = tempfile.mkdtemp(prefix="garth-bench-", dir=os.environ.get("GARTH_BENCH_DIR", "/var/tmp"))
    os.chmod(root, 0o711)  # garth-api, with a uid of its own, must get through
    bare = os.path.join(root, "bare")
    os.mkdir(bare)
    server = Server(args.build, root)
    try:
        server.call("POST", "/v1/workspaces", {"name": WORKSPACE, "agents": [AGENT]})
        time.sleep(0.5)
        step_rows = steps(server, args.build, "true", ["true"], args.rounds)
        step_rows += steps(server, args.build, "python3 -c 1", ["/usr/bin/python3", "-c", "1"], max(args.rounds // 3, 1))
        file_rows = files(server, args.build, bare, args.file_rounds, args.small, args.mib)
        if args.json:
            print(json.dumps({"machine": machine(), "steps": step_rows, "files": file_rows}, indent=1))
        else:
            print(machine())
            show(step_rows, file_rows)
    finally:
        server.stop()
        shutil.rmtree(root, ignore_errors=True)


main()
