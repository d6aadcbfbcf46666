#!/usr/bin/env python3
"""Measures one recorder, and one server with pages, over 10, 100 and 1,000 simulated agents.

usage: measure.py TACHO FLEET LOG [--machines 10,100,1000] [--seconds 60] [--serve]

LOG is a recording of this machine (README.md). The paths select about 200 values of it.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

PATHS = [
    r"\Processor Information(*)\*",
    r"\Memory\*",
    r"\System\*",
]
PAGES = 20
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS, int(fields[12]) / TICKS


def status(pid, name):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


def disk_bytes(folder):
    return sum(
        os.lstat(os.path.join(root, name)).st_blocks * 512 for root, _, names in os.walk(folder) for name in names
    )


def watch(pid, seconds, folder=None):
    """CPU time (all, system) of a process over some seconds, and the peak size of a folder."""
    peak, start, began = 0, cpu_seconds(pid), time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(min(5, seconds))
        if folder:
            peak = max(peak, disk_bytes(folder))
    taken = time.monotonic() - began
    now = cpu_seconds(pid)
    return (now[0] - start[0]) / taken, (now[1] - start[1]) / taken, peak


def start_fleet(arguments, config, machines):
    fleet = subprocess.Popen(
        [arguments.fleet, arguments.log, config, "--machines", str(machines), "--port", "7399"],
        stdout=subprocess.PIPE,
        text=True,
    )
    if "ready" not in fleet.stdout.readline():
        sys.exit("fleet does not start")
    return fleet


def record(arguments, machines, form):
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        config, output = os.path.join(folder, "config"), os.path.join(folder, "recorded")
        fleet = start_fleet(arguments, config, machines)
        command = [arguments.tacho, "record", "-s", "@all", *PATHS, "-si", "1", "-o", output, "-f", form]
        command += ["--segment", arguments.segment] if form == "archive" and arguments.segment else []
        environment = dict(os.environ, XDG_CONFIG_HOME=config)
        errors = open(os.path.join(folder, "errors"), "w+")
        recorder = subprocess.Popen(command, env=environment, stderr=errors)
        # The time for connecting, opening queries and the first samples is not measured.
        time.sleep(10 + machines / 50)
        share, system, peak = watch(recorder.pid, arguments.seconds, output)
        memory, threads = status(recorder.pid, "VmHWM"), status(recorder.pid, "Threads")
        before = time.monotonic()
        recorder.terminate()
        try:
            recorder.wait(arguments.stop)
        except subprocess.TimeoutExpired:
            recorder.kill()
            recorder.wait()
        stopped = time.monotonic() - before
        fleet.kill()
        fleet.wait()
        errors.seek(0)
        lines = errors.read().strip().splitlines()
        result = {
            "machines": machines,
            "format": form,
            "us_per_machine_sample": round(share / machines * 1e6, 1),
            "us_system": round(system / machines * 1e6, 1),
            "peak_memory_mb": round(memory / 1024, 1),
            "threads": threads,
            "peak_disk_mb": round(peak / 2**20, 1),
            "seconds_to_stop": round(stopped, 1),
            "messages": lines[:3] + lines[-1:],
        }
        print(json.dumps(result), flush=True)


def read_stream(url, counts, index, ends):
    """Counts the samples that a page receives."""
    with urllib.request.urlopen(url) as response:
        while time.monotonic() < ends:
            line = response.readline()
            if not line:
                break
            counts[index] += line.startswith(b"event: sample")


def serve(arguments, machines):
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        config = os.path.join(folder, "config")
        fleet = start_fleet(arguments, config, machines)
        environment = dict(os.environ, XDG_CONFIG_HOME=config)
        server = subprocess.Popen(
            [arguments.tacho, "serve", "-s", "@all", "--port", "7398", "-c", *PATHS],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        url = server.stdout.readline().strip().rstrip("/")
        columns = [
            r"\Processor Information(_Total)\% Processor Time",
            r"\Memory\Available Bytes",
            r"\System\Processes",
        ]
        page_paths = [rf"\\sim{number % machines:04}" + path for number in range(10) for path in columns]
        ends = time.monotonic() + 20 + machines / 50 + arguments.seconds
        counts, slowest = [0] * PAGES, [0.0] * PAGES

        def page(index):
            query = urllib.parse.urlencode([("path", path) for path in page_paths])
            threading.Thread(target=read_stream, args=(f"{url}/api/stream?{query}", counts, index, ends), daemon=True).start()
            table = urllib.parse.urlencode([("path", path) for path in columns] + [("top", 50), ("sort", index % 3)])
            while time.monotonic() < ends:
                before = time.monotonic()
                with urllib.request.urlopen(f"{url}/api/fleet?{table}") as response:
                    response.read()
                slowest[index] = max(slowest[index], time.monotonic() - before)
                time.sleep(1)

        for index in range(PAGES):
            threading.Thread(target=page, args=(index,), daemon=True).start()
        time.sleep(20 + machines / 50)
        before = list(counts)
        share, system, _ = watch(server.pid, arguments.seconds)
        received = [now - then for now, then in zip(counts, before)]
        result = {
            "machines": machines,
            "pages": PAGES,
            "us_per_machine_sample": round(share / machines * 1e6, 1),
            "us_system": round(system / machines * 1e6, 1),
            "peak_memory_mb": round(status(server.pid, "VmHWM") / 1024, 1),
            "threads": status(server.pid, "Threads"),
            "samples_per_page": [min(received), max(received)],
            "seconds": arguments.seconds,
            "slowest_table_s": round(max(slowest), 2),
        }
        print(json.dumps(result), flush=True)
        for process in (server, fleet):
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tacho")
    parser.add_argument("fleet")
    parser.add_argument("log")
    parser.add_argument("--machines", default="10,100,1000")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--segment", help="duration of segments; default: ten minutes")
    parser.add_argument("--formats", default="archive")
    parser.add_argument("--serve", action="store_true", help="measure a server with pages, too")
    parser.add_argument("--stop", type=int, default=600, help="kill a recorder that takes longer to stop, in seconds")
    parser.add_argument("--folder", default=None, help="where to record")
    arguments = parser.parse_args()
    for name in ("tacho", "fleet"):
        setattr(arguments, name, shutil.which(getattr(arguments, name)) or sys.exit(f"no {name}"))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for machines in map(int, arguments.machines.split(",")):
        for form in arguments.formats.split(","):
            if form:
                record(arguments, machines, form)
        if arguments.serve:
            serve(arguments, machines)


main()
