#!/usr/bin/env python3
"""Records another machine through a link that fails, with two network namespaces as two machines.

usage: check.py [--seconds N] TACHO

The link is down for N seconds (8 by default). Every sample outside the time from the failure to two seconds after its end must
have a value. Exit status 125: this machine does not allow network namespaces; the last line says why.
"""

import argparse
import csv
import datetime
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# The time after the failure's end from which every sample must have a value.
REACH = 2.0
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
    for tool in ("ip", "unshare", "nsenter"):
        if not shutil.which(tool):
            skip(f"{tool} is missing (iproute2, util-linux)")
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
    setup = ["agent", "setup", "--folder", agent_folder, "--address", "10.83.0.2:7321", "--name", "two"]
    line = two.run(tacho, *setup, env=environment)
    machines = folder / "tachograph/machines.toml"
    machines.parent.mkdir()
    machines.write_text(line)
    machines.chmod(0o600)
    agent = subprocess.Popen(
        two.command(tacho, "agent", "--folder", agent_folder), env=environment, stderr=subprocess.PIPE, text=True
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
    wait_for_rows(values, 4, query)
    two.run("ip", "link", "set", DEVICE, "down")
    down = time.time()
    time.sleep(seconds)
    two.run("ip", "link", "set", DEVICE, "up")
    up = time.time()
    wait_for_rows(values, len(rows_of(values)) + 6, query)
    query.send_signal(signal.SIGINT)
    query.wait(20)
    rows = rows_of(values)
    times = [at for at, *_ in rows]
    assert all(local for _, _, local in rows), "this machine has no value in a sample"
    longest = max(later - earlier for earlier, later in zip(times, times[1:]))
    assert longest < 1.9, f"a sample is missing: {longest} s between two"
    missing = [at for at, remote, _ in rows if not remote]
    assert missing, "the link did not fail"
    outside = [at for at in missing if not down - PRECISION <= at <= up + REACH]
    first = min(at for at in times if at > up and at not in missing)
    print(f"down for {up - down:.1f} s: {len(missing)} of {len(rows)} samples without a value,")
    print(f"from {min(missing) - down:.2f} s after the failure to {max(missing) - up:.2f} s after its end;")
    print(f"the first value is {first - up:.2f} s after its end")
    assert not outside, f"missing values {[f'{at - up:.2f}' for at in outside]} s after the failure's end"


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
