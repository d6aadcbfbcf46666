#!/usr/bin/env python3
"""Records another machine through a link that fails, with two network namespaces as two machines.

usage: check.py [--seconds N] TACHO

The link is down for N seconds (8 by default). Every sample outside the time from the failure to two seconds after its end must
have a value. On a busy machine, the time that the programs wait for a processor is added to these two seconds. Then `query`, `record`, `serve` and `monitor` read both machines. They share a kernel, so their values must be equal. Exit status 125: this machine does not allow network namespaces; the last line says why.
"""

import argparse
import csv
import datetime
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

# The time after the failure's end from which every sample must have a value.
RECOVERY_TIME = 2.0
# A sample can be late, and so lack a value, if the programs wait this long for a processor at that time.
LATE = 0.25
# The virtual Ethernet device of each namespace.
DEVICE = "wire0"
# The time of a sample is truncated to milliseconds.
PRECISION = 0.002


class Namespace:
    """A network namespace with a host name of its own, which exists as long as its process."""

    def __init__(self, name):
        command = ["unshare", "--net", "--uts", "sh", "-c", f"hostname {name} && echo ready && exec sleep 1000000"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            skip(f"no network namespace: {self.process.stderr.read().strip()}")

    def command(self, *arguments):
        return ["nsenter", "--target", str(self.process.pid), "--net", "--uts", *arguments]

    def run(self, *arguments, **options):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, **options)
        if done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.stderr.strip()}")
        return done.stdout

    def end(self):
        self.process.kill()
        self.process.wait()


class Waits:
    """The time that all threads of some processes have waited for a processor."""

    def __init__(self, processes):
        self.processes = processes
        self.known = {}
        # The time in seconds since 1970, and the sum of all waits until then.
        self.sums = [(time.time(), 0.0)]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(0.05):
            waited = 0.0
            for process in self.processes:
                for file in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
                    try:
                        now = int(file.read_text().split()[1]) / 1e9
                    except OSError:
                        continue
                    waited += now - self.known.get(file, 0.0)
                    self.known[file] = now
            self.sums.append((time.time(), self.sums[-1][1] + waited))

    def end(self):
        self.ended.set()
        self.thread.join()

    def between(self, begin, end):
        before = [waited for at, waited in self.sums if at <= begin] or [0.0]
        until = [waited for at, waited in self.sums if at <= end] or [0.0]
        return until[-1] - before[-1]


def skip(reason):
    print(reason)
    sys.exit(125)


def start_link(one, two):
    try:
        peer = ["peer", "name", DEVICE, "netns", str(two.process.pid)]
        one.run("ip", "link", "add", "name", DEVICE, "type", "veth", *peer)
    except RuntimeError as error:
        skip(f"no virtual Ethernet: {error}")
    for namespace, address in ((one, "10.83.0.1/24"), (two, "10.83.0.2/24")):
        namespace.run("ip", "address", "add", address, "dev", DEVICE)
        namespace.run("ip", "link", "set", "lo", "up")
        namespace.run("ip", "link", "set", DEVICE, "up")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("tacho")
    arguments = parser.parse_args()
    tacho = os.path.abspath(arguments.tacho)
    if os.geteuid() != 0:
        skip("network namespaces need root")
    for tool in ("curl", "ip", "unshare", "nsenter"):
        if not shutil.which(tool):
            skip(f"{tool} is missing (curl, iproute2, util-linux)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tacho-link-"))
    namespaces, processes = [], []
    try:
        for name in ("one", "two"):
            namespaces.append(Namespace(name))
        one, two = namespaces
        start_link(one, two)
        check(tacho, folder, one, two, processes, arguments.seconds)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for namespace in namespaces:
            namespace.end()
        shutil.rmtree(folder)


def check(tacho, folder, one, two, processes, seconds):
    environment = dict(os.environ, TZ="UTC", XDG_CONFIG_HOME=str(folder), TACHO_RUNTIME_DIR=str(folder), TACHO_MMV_DIR="")
    agent_folder = str(folder / "agent")
    setup = ["agent", "setup", "--folder", agent_folder]
    lines = [
        two.run(tacho, *setup, "--address", f"10.83.0.{number}:7321", "--name", name, env=environment)
        for number, name in ((1, "one"), (2, "two"))
    ]
    machines = folder / "tachograph/machines.toml"
    machines.parent.mkdir()
    machines.write_text("".join(lines))
    machines.chmod(0o600)
    for namespace in (one, two):
        agent = subprocess.Popen(
            namespace.command(tacho, "agent", "--folder", agent_folder),
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(agent)
        line = agent.stderr.readline()
        assert "listens" in line, line
    values = folder / "values.csv"
    # Both machines: this one must have a value in each sample.
    paths = [r"\\two\System\System Up Time", r"\System\System Up Time"]
    query = subprocess.Popen(
        one.command(tacho, "query", *paths, "-si", "1", "-f", "csv", "-o", str(values)),
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    processes.append(query)
    # The programs of both sides.
    waits = Waits(list(processes))
    wait_for_rows(values, 4, query)
    two.run("ip", "link", "set", DEVICE, "down")
    down = time.time()
    time.sleep(seconds)
    two.run("ip", "link", "set", DEVICE, "up")
    up = time.time()
    wait_for_rows(values, len(rows_of(values)) + 6, query)
    query.send_signal(signal.SIGINT)
    query.wait(60)
    waits.end()
    rows = rows_of(values)
    times = [at for at, *_ in rows]
    assert all(local for _, _, local in rows), "this machine has no value in a sample"
    # On a busy machine, single samples can be skipped.
    during = [at for at in times if down <= at <= up]
    interval = statistics.median(later - earlier for earlier, later in zip(during, during[1:]))
    assert interval < 1.5, f"the failed link delays this machine: {interval} s between two samples"
    missing = [at for at, remote, _ in rows if not remote]
    assert missing, "the link did not fail"

    def is_excused(at):
        if at < down - PRECISION:
            return waits.between(at - 2, at + 1) > LATE
        return at <= up + RECOVERY_TIME + waits.between(up, at) or waits.between(at - 2, at + 1) > LATE

    outside = [at for at in missing if not is_excused(at)]
    first = min(at for at in times if at > up and at not in missing)
    print(f"down for {up - down:.1f} s: {len(missing)} of {len(rows)} samples without a value,")
    print(f"from {min(missing) - down:.2f} s after the failure to {max(missing) - up:.2f} s after its end;")
    print(f"the first value is {first - up:.2f} s after its end;")
    print(f"from then on, the programs waited {waits.between(up, first):.2f} s for a processor")
    assert not outside, f"missing values {[f'{at - up:.2f}' for at in outside]} s after the failure's end"
    check_both(tacho, folder, one, environment, processes)


# Both machines have the same up time. In one sample, their values differ by less than this number of seconds.
MAX_DIFFERENCE = 1.0
PATH = r"\System\System Up Time"


def check_both(tacho, folder, one, environment, processes):
    """Reads both machines with each command."""
    lines = one.run(tacho, "query", "-s", "@all", PATH, "-si", "1", "-sc", "3", "-f", "json", env=environment)
    assert lines.count(r"\\\\one\\System") == lines.count(r"\\\\two\\System") == 3, lines
    log = str(folder / "both.blg")
    # On a busy machine, an answer can be late, so that a value is missing or older.
    end = time.monotonic() + 120
    while True:
        one.run(tacho, "record", "-s", "@all", PATH, "-si", "1", "-sc", "4", "-o", log, "-y", env=environment)
        stats = json.loads(one.run(tacho, "stats", log, "-f", "json", env=environment))
        last = {row["machine"]: (row["values"], row["last"]) for row in stats}
        assert sorted(last) == ["one", "two"], stats
        is_complete = all(values == 4 for values, _ in last.values())
        if is_complete and abs(last["one"][1] - last["two"][1]) < MAX_DIFFERENCE:
            break
        assert time.monotonic() < end, f"record does not have equal values of both machines: {stats}"
    difference = check_served(tacho, one, environment, processes)
    check_monitor(tacho, one, environment)
    print("query, record, serve and monitor read both machines;")
    print(f"the values of a sample differ by {abs(last['one'][1] - last['two'][1]):.3f} s (record), {difference:.3f} s (serve)")


def check_served(tacho, one, environment, processes):
    """The table of machines; returns the difference of their values."""
    server = subprocess.Popen(
        one.command(tacho, "serve", "-s", "@all", "--port", "0"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    processes.append(server)
    url = server.stdout.readline().strip()
    table = f"{url}api/fleet?{urllib.parse.urlencode({'path': PATH})}"
    end = time.monotonic() + 60
    while True:
        rows = json.loads(one.run("curl", "-s", table))["rows"]
        last = {row["machine"]: (row["statistics"][0] or {}).get("last") for row in rows}
        if sorted(last) == ["one", "two"] and None not in last.values():
            difference = abs(last["one"] - last["two"])
            if difference < MAX_DIFFERENCE:
                return difference
        assert time.monotonic() < end, f"serve has no equal values of both machines: {rows}"
        time.sleep(0.2)


def check_monitor(tacho, one, environment):
    """The terminal monitor shows the paths of both machines."""
    controller, terminal = pty.openpty()
    command = one.command("sh", "-c", 'stty rows 40 cols 160; exec "$@"', "sh", tacho, "monitor", "-s", "@all", "-c", PATH)
    monitor = subprocess.Popen(command, env=dict(environment, TERM="xterm"), stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown, end = b"", time.monotonic() + 60
    is_complete = lambda text: "one" in text and "two" in text and "System Up Time" in text
    while not is_complete(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode(errors="replace"))):
        assert time.monotonic() < end, f"the monitor shows {shown!r}"
        if select.select([controller], [], [], 0.2)[0]:
            shown += os.read(controller, 65536)
    os.write(controller, b"q")
    while monitor.poll() is None:
        assert time.monotonic() < end + 60, "the monitor does not end"
        if select.select([controller], [], [], 0.2)[0]:
            try:
                os.read(controller, 65536)
            except OSError:
                pass
    assert monitor.returncode == 0, monitor.returncode
    os.close(controller)


def rows_of(path):
    """The samples: time, and whether the other machine and this one have a value."""
    rows = []
    if not path.exists():
        return rows
    text = path.read_text(encoding="utf-8")
    # The last line can be incomplete.
    table = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
    if not table:
        return rows
    remote, local = (table[0].index(rf"\\{name}\System\System Up Time") for name in ("two", "one"))
    for row in table[1:]:
        at = datetime.datetime.strptime(row[0], "%m/%d/%Y %H:%M:%S.%f").replace(tzinfo=datetime.timezone.utc)
        rows.append((at.timestamp(), row[remote].strip() != "", row[local].strip() != ""))
    return rows


def wait_for_rows(path, count, query):
    end = time.monotonic() + 60
    while len(rows_of(path)) < count:
        assert time.monotonic() < end and query.poll() is None, f"no samples: {query.stderr.read() if query.poll() else ''}"
        time.sleep(0.1)


if __name__ == "__main__":
    main()
