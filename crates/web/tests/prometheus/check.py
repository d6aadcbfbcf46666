#!/usr/bin/env python3
"""Checks with a real Prometheus that every expression of the Grafana dashboard and of docs/metrics.md returns data.

Prometheus scrapes `tacho serve` every second while the disk and the processors work. Then each expression of
packaging/grafana/tachograph.json, each variable of the dashboard, and each PromQL example of docs/metrics.md is evaluated.
`promtool check metrics` must be silent for current and old names. An expression without data is an error unless this machine
lacks one of its metrics. A test in crates/metrics/tests/metrics checks that all names exist.

If prometheus-node-exporter is installed (or NODE_EXPORTER is its path), the table of its names in docs/metrics.md is checked too: both
sides of each row must have the same values.

usage: check.py [TACHO]   (default: tacho of the debug build, in $CARGO_TARGET_DIR or target/)
Exit status: 0 all return data, 1 some do not, 2 usage error, 125 prometheus or promtool is missing.
"""

import contextlib
import gzip
import json
import mmap
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[4]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
DASHBOARD = ROOT / "packaging/grafana/tachograph.json"
DOCS = ROOT / "docs/metrics.md"
# The time range of all expressions, which replaces their own ranges. It contains several scrapes.
RANGE = "10s"
SCRAPES = 5
DEADLINE = 120
# The maximum distance between the values of two exporters in the same seconds, as a share of the value.
TOLERANCE = 0.02
# These values change from one moment to the next, so only their existence is checked.
VOLATILE = {"node_procs_running", "node_procs_blocked", "node_disk_io_now", "node_cpu_scaling_frequency_hertz"}
# The paths of the scrape jobs of docs/metrics.md: one scrapes what is exported by default, the other one control groups.
JOBS = {"tacho": [], "tacho-services": [r"\Cgroup(*)\*"]}
# The servers are local, so proxy settings are ignored.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(url, headers=None):
    with OPENER.open(urllib.request.Request(url, headers=headers or {}), timeout=60) as answer:
        body = answer.read()
        return gzip.decompress(body) if answer.headers.get("Content-Encoding") == "gzip" else body


class Prometheus:
    """A client of Prometheus' HTTP interface."""

    def __init__(self, url):
        self.url = url

    def ask(self, path, **parameters):
        try:
            return json.loads(fetch(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}"))["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                # Prometheus is still starting.
                raise
            return {"error": json.loads(error.read())["error"]}

    def query(self, expression):
        return self.ask("query", query=expression)


def start(children, *command, **options):
    """Starts a process that ends with this one."""
    process = subprocess.Popen(command, **options)

    def stop():
        process.terminate()
        process.wait()

    children.callback(stop)
    return process


def start_tacho(children, tacho, *arguments):
    """Starts the server; returns the process and its URL."""
    server = start(children, tacho, "serve", "--port", "0", *arguments, stdout=subprocess.PIPE, text=True)
    url = server.stdout.readline().strip().rstrip("/")
    if not url.startswith("http://"):
        sys.exit(f"check.py: tacho serve has not started: {url!r}")
    return server, url


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_node_exporter(children):
    """Starts node_exporter; returns its address, or nothing if it is not installed."""
    program = os.environ.get("NODE_EXPORTER") or shutil.which("prometheus-node-exporter")
    if not program:
        return None
    address = f"127.0.0.1:{free_port()}"
    start(children, program, f"--web.listen-address={address}", stderr=subprocess.DEVNULL)
    return address


def start_prometheus(children, folder, target, node):
    jobs = [
        {
            "job_name": name,
            "static_configs": [{"targets": [target]}],
            **({"params": {"path": paths}} if paths else {}),
        }
        for name, paths in JOBS.items()
    ]
    if node:
        jobs.append({"job_name": "node", "static_configs": [{"targets": [node]}]})
    # Every JSON text is valid YAML.
    (folder / "prometheus.yml").write_text(json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}))
    port = free_port()
    log = children.enter_context(open(folder / "prometheus.log", "w", encoding="utf-8"))
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    process = start(children, *command, f"--web.listen-address=127.0.0.1:{port}", stdout=log, stderr=log)
    return process, Prometheus(f"http://127.0.0.1:{port}")


class Work:
    """Writes and reads a file past the page cache until it is stopped, so that there are disk transfers."""

    def __init__(self, folder):
        self.path = folder / "written"
        self.is_stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        # Direct transfers need an aligned buffer.
        block = mmap.mmap(-1, 1 << 16)
        while not self.is_stopped.wait(0.05):
            with open(self.path, "wb") as file:
                file.write(b"x" * (1 << 20))
                os.fsync(file.fileno())
            try:
                descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECT)
                os.preadv(descriptor, [block], 0)
            except OSError:
                descriptor = os.open(self.path, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.read(descriptor, 1 << 16)
            os.close(descriptor)

    def stop(self):
        self.is_stopped.set()
        self.thread.join()


def dashboard_expressions():
    """Yields a description and an expression for each target of a panel and for each variable."""
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f"panel {panel['id']} ({panel['title']}) {target['refId']}", target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            yield f"variable {variable['name']}", f"count by ({label}) ({metric})"


def documented_expressions():
    text = DOCS.read_text(encoding="utf-8")
    for block in re.findall(r"```promql\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith("#"):
                yield "docs/metrics.md", line


def numbers_of(result):
    return [float(one["value"][1]) for one in result.get("result", []) if one["value"][1] != "NaN"]


def promtool_findings(url):
    found = ""
    for path in ["/metrics", "/metrics?" + urllib.parse.urlencode({"path": r"\Process V2(*)\*"})]:
        text = fetch(url + path, {"Accept-Encoding": "gzip"})
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, check=False, capture_output=True)
        found += (checked.stdout + checked.stderr).decode()
        if checked.returncode:
            found += f"promtool: exit status {checked.returncode}\n"
    return found


def wait_for_scrapes(prometheus, children, jobs):
    """Waits until each job was scraped several times within the range."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        for child in children:
            if child.poll() is not None:
                sys.exit(f"check.py: {child.args[0]} has ended")
        try:
            found = prometheus.query(f"sum_over_time(up[{RANGE}])")
            if len(numbers_of(found)) == jobs and min(numbers_of(found)) >= SCRAPES:
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"check.py: not enough scrapes within {DEADLINE} s")


def check_expressions(prometheus, instance, exported):
    failed = 0
    absent = []
    count = 0
    for where, expression in [*dashboard_expressions(), *documented_expressions()]:
        count += 1
        query = expression.replace("$__rate_interval", RANGE).replace("[5m]", f"[{RANGE}]")
        query = query.replace("$job", "tacho").replace("$instance", instance)
        result = prometheus.query(query)
        metrics = set(re.findall(r"\b(?:tacho|process)_\w+", expression))
        if "error" in result:
            print(f"{where}: {expression}: {result['error']}")
            failed += 1
        elif not numbers_of(result):
            if metrics - exported:
                absent.append(f"{where}: {expression}")
                continue
            print(f"{where}: no data: {expression}")
            failed += 1
    print(f"{count} expressions, {failed} failed")
    if absent:
        print("not on this machine:", *absent, sep="\n  ")
    return failed


def documented_pairs():
    """The rows of the table of node_exporter's names, as pairs of expressions."""
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split(" | ")]
        if len(cells) == 2 and cells[0] and cells[0][0].startswith("node_"):
            if len(cells[0]) != len(cells[1]):
                sys.exit(f"check.py: docs/metrics.md: the sides of a row have different numbers of names: {line}")
            yield from zip(*cells)


def ranges_of(prometheus, expression, moment):
    """The lowest and the highest value of each series in the range before `moment`, by labels."""
    found = {}
    for function in ["min_over_time", "max_over_time"]:
        result = prometheus.ask("query", query=f"{function}(({expression})[{RANGE}:1s])", time=moment)
        for one in result.get("result", []):
            labels = {name: value for name, value in one["metric"].items() if name not in ("__name__", "job", "instance")}
            found.setdefault(tuple(sorted(labels.items())), []).append(float(one["value"][1]))
    return found


def by_labels(ranges, names):
    return {tuple(value for name, value in labels if name in names): pair for labels, pair in ranges.items()}


def check_node_exporter(prometheus):
    failed = 0
    compared = 0
    only_one = []
    pairs = list(documented_pairs())
    moment = time.time()
    for node, ours in pairs:
        both = [ranges_of(prometheus, expression, moment) for expression in (node, ours)]
        if not all(both):
            only_one += [f"{node} | {ours}"] if any(both) else []
            continue
        # The labels that all series of both exporters have.
        names = set.intersection(*({name for name, _ in labels} for ranges in both for labels in ranges))
        theirs, mine = (by_labels(ranges, names) for ranges in both)
        common = theirs.keys() & mine.keys()
        if not common:
            print(f"no common series: {node} | {ours}: {sorted(theirs)} {sorted(mine)}")
            failed += 1
        for key in common:
            compared += 1
            distance = max(theirs[key][0] - mine[key][1], mine[key][0] - theirs[key][1])
            if node not in VOLATILE and distance > TOLERANCE * max(abs(theirs[key][0]), 1):
                print(f"{node} {key}: {theirs[key]}; {ours}: {mine[key]}")
                failed += 1
    print(f"names of node_exporter: {len(pairs)} pairs, {compared} series compared, {failed} differ")
    if only_one:
        print("only one of the two exporters has data:", *only_one, sep="\n  ")
    return failed


def exported_names(url):
    names = set()
    for paths in JOBS.values():
        text = fetch(f"{url}/metrics?{urllib.parse.urlencode({'path': paths}, doseq=True)}").decode()
        names |= {re.split(r"[{ ]", line)[0] for line in text.splitlines() if not line.startswith("#")}
    return names


def check(tacho, folder):
    with contextlib.ExitStack() as children:
        server, url = start_tacho(children, tacho)
        target = url.removeprefix("http://")
        node_address = start_node_exporter(children)
        process, prometheus = start_prometheus(children, folder, target, node_address)
        _, old_url = start_tacho(children, tacho, "--metrics-names", "old")
        work = Work(folder)
        children.callback(work.stop)
        wait_for_scrapes(prometheus, [server, process], len(JOBS) + bool(node_address))
        failed = check_expressions(prometheus, target, exported_names(url))
        if node_address:
            failed += check_node_exporter(prometheus)
        else:
            print("names of node_exporter: not compared, prometheus-node-exporter is not installed")
        for name, address in [("current", url), ("old", old_url)]:
            findings = promtool_findings(address)
            print(f"promtool check metrics, {name} names: {findings or 'silent'}")
            failed += bool(findings)
        return failed


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    tacho = sys.argv[1] if len(sys.argv) == 2 else str(TARGET / "debug/tacho")
    if not os.access(tacho, os.X_OK):
        print(f"check.py: {tacho} is missing; build it with: cargo build -p tachograph")
        return 2
    for need in ["prometheus", "promtool"]:
        if shutil.which(need) is None:
            print(f"check.py: {need} is missing")
            return 125
    # The folder is on a disk, not in memory, because the expressions need disk transfers.
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="prometheus.", dir=TARGET) as folder:
        return 1 if check(tacho, pathlib.Path(folder)) else 0


if __name__ == "__main__":
    sys.exit(main())
