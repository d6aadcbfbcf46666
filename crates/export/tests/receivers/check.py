#!/usr/bin/env python3
"""Checks `tacho record --to` with Prometheus, VictoriaMetrics, and the protobuf classes of OpenTelemetry.

`tacho record` writes a log and sends the same samples to Prometheus (remote-write), to VictoriaMetrics (remote-write) and to a
small collector in this script (OTLP). Meanwhile Prometheus is killed twice (SIGKILL), VictoriaMetrics is ended twice (SIGTERM), and
the collector refuses connections twice; each returns after some seconds. At the end:

- each series of Prometheus and VictoriaMetrics has exactly the times of the log, without gaps and duplicates;
- PromQL's rate(a)/rate(b) equals the average of `tacho stats` over the log, within 1e-9 of the average;
- each OTLP series has no gap, the values that Prometheus has and, if it is a sum, start times before the times of its points.

The recorder ends after N seconds or later, when each receiver has samples from after the last outage. So it does not matter how long
the receivers take to start, and how long the recorder waits before it tries again.

usage: check.py [--seconds N] [TACHO]   (default: 40 seconds; tacho of the debug build, in $CARGO_TARGET_DIR or target/)
Exit status: 0 all equal, 1 differences, 2 usage error, 125 if prometheus, victoria-metrics, or the Python package opentelemetry-proto
(for this Python) is missing.
"""

import argparse
import contextlib
import gzip
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[4]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PATHS = [r"\Processor Information(*)\*", r"\Memory\*", r"\PhysicalDisk(*)\*", r"\System\*", r"\Network Interface(*)\*"]
# The counter set and the counter of an average of `tacho stats`, and a, b and the factor of the same average in PromQL:
# factor * rate(a) / rate(b).
AVERAGES = [
    ("PhysicalDisk", "Avg. Disk Bytes/Write", "tacho_disk_write_bytes_total", "tacho_disk_writes_total", 1),
    ("PhysicalDisk", "Avg. Disk sec/Write", "tacho_disk_write_seconds_total", "tacho_disk_writes_total", 1),
]
DOWN_SECONDS = 4
TIMEOUT_SECONDS = 120
# The servers are local, so proxy settings are ignored.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A process that listens on a port, and is started again after it has ended."""

    def __init__(self, children, command, port, log):
        self.command = command
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        self.process = None
        children.callback(self.end, "terminate")

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        end = time.monotonic() + TIMEOUT_SECONDS
        while True:
            with contextlib.suppress(OSError):
                self.request("query", query="1")
                return
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit(f"check.py: {self.command[0]} does not start; see {self.log.name}")
            time.sleep(0.1)

    def end(self, method):
        """Ends the process with a method of Popen: "kill" or "terminate"."""
        if self.process and self.process.poll() is None:
            getattr(self.process, method)()
            self.process.wait()

    def request(self, path, **parameters):
        with OPENER.open(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}", timeout=60) as answer:
            return json.loads(answer.read())["data"]


class Collector:
    """Keeps the bodies of OTLP requests."""

    def __init__(self):
        self.bodies = []
        self.port = free_port()
        self.server = None

    def start(self):
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                is_valid = self.path == "/v1/metrics" and self.headers["Content-Type"] == "application/x-protobuf"
                if is_valid and self.headers["Content-Encoding"] == "gzip":
                    collector.bodies.append(gzip.decompress(body))
                self.send_response(200 if is_valid else 400)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self, _):
        self.server.shutdown()
        self.server.server_close()


def milliseconds(text):
    """The milliseconds since 1970 of a time as relog writes it."""
    import datetime

    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def times_of_log(tacho, log):
    lines = subprocess.run([tacho, "relog", log, "-f", "json", "-o", "-"], check=True, capture_output=True, text=True).stdout
    return [milliseconds(json.loads(line)["time"]) for line in lines.splitlines()]


def query_values(server, selector, seconds, at):
    """The stored times and values of each series in the last `seconds` before `at`."""
    found = server.request("query", query=f"{selector}[{seconds}s]", time=at)["result"]
    return {json.dumps(one["metric"], sort_keys=True): one["values"] for one in found}


def exported_values(server, selector, *_):
    """Like query_values, for VictoriaMetrics: its queries leave out the last value before the end of a series, but its export does not."""
    with OPENER.open(f"{server.url}/api/v1/export?{urllib.parse.urlencode({'match[]': selector})}", timeout=60) as answer:
        found = [json.loads(line) for line in answer.read().splitlines()]
    values = lambda one: [(at / 1000, value) for at, value in zip(one["timestamps"], one["values"]) if value is not None]
    return {json.dumps(one["metric"], sort_keys=True): values(one) for one in found}


def check_times(name, server, values_of, times, seconds, at):
    failed = 0
    metrics = ["tacho_cpu_user_seconds_total", "tacho_memory_total_bytes", "tacho_disk_writes_total"]
    metrics = [one for one in metrics if values_of(server, one, seconds, at)]
    compared = 0
    for metric in metrics:
        for labels, values in values_of(server, metric, seconds, at).items():
            found = [round(float(one[0]) * 1000) for one in values]
            compared += 1
            if found != times:
                missing, more = sorted(set(times) - set(found)), len(found) - len(set(found) & set(times))
                print(f"{name}: {labels}: {len(found)} of {len(times)} samples; missing {[times.index(one) for one in missing[:5]]}; {more} too many")
                failed += 1
    print(f"{name}: {compared} series of {len(metrics)} metrics, {len(times)} samples each, {failed} differ")
    return failed + (compared == 0)


def check_averages(server, tacho, log, seconds, at):
    failed = compared = 0
    stats = json.loads(subprocess.run([tacho, "stats", log, "-f", "json"], check=True, capture_output=True, text=True).stdout)
    for set_name, counter, numerator, denominator, factor in AVERAGES:
        result = server.request("query", query=f"{factor} * rate({numerator}[{seconds}s]) / rate({denominator}[{seconds}s])", time=at)
        by_device = {one["metric"].get("device"): float(one["value"][1]) for one in result["result"]}
        for row in stats:
            if row["set"] != set_name or row["counter"] != counter or row["instance"] == "_Total":
                continue
            promql_average = by_device.get(row["instance"].split(" ")[0], by_device.get(row["instance"]))
            if promql_average is None or promql_average != promql_average:
                continue
            compared += 1
            if abs(promql_average - row["average"]) > 1e-9 * abs(row["average"]):
                print(f"{counter} of {row['instance']}: PromQL {promql_average}, stats {row['average']}")
                failed += 1
    print(f"PromQL and stats: {compared} averages compared, {failed} differ")
    return failed + (compared == 0)


def check_otlp(bodies, server, times, seconds, at):
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    failed = points = 0
    series = {}
    for body in bodies:
        request = ExportMetricsServiceRequest.FromString(body)
        for resource in request.resource_metrics:
            attributes = {one.key: one.value.string_value for one in resource.resource.attributes}
            if set(attributes) != {"host.name", "service.name"}:
                print(f"OTLP: attributes of the resource: {attributes}")
                failed += 1
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    kind = metric.WhichOneof("data")
                    is_sum = kind == "sum"
                    if is_sum and not (metric.sum.is_monotonic and metric.sum.aggregation_temporality == 2):
                        print(f"OTLP: {metric.name}: the sum is not monotonic and cumulative")
                        failed += 1
                    for point in getattr(metric, kind).data_points:
                        if point.flags & 1:
                            continue
                        points += 1
                        if is_sum and not 0 < point.start_time_unix_nano < point.time_unix_nano:
                            print(f"OTLP: {metric.name}: start {point.start_time_unix_nano}, time {point.time_unix_nano}")
                            failed += 1
                        labels = {one.key: one.value.string_value for one in point.attributes}
                        key = (metric.name + ("_total" if is_sum else ""), json.dumps(labels, sort_keys=True))
                        value = point.as_int if point.WhichOneof("value") == "as_int" else point.as_double
                        series.setdefault(key, {})[point.time_unix_nano // 1_000_000] = value
    compared = 0
    for (name, labels), values in series.items():
        # An instance can appear or end during the recording, but has no gap.
        first = times.index(min(values)) if min(values) in times else 0
        if sorted(values) != times[first : first + len(values)]:
            print(f"OTLP: {name} {labels}: {len(values)} samples with a gap")
            failed += 1
        selector = name + "{" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(labels).items()) + "}"
        if compared < 200:
            stored = query_values(server, selector, seconds, at)
            stored_values = {round(float(at) * 1000): float(value) for at, value in next(iter(stored.values()), [])}
            compared += 1
            if stored_values != {at: float(value) for at, value in values.items()}:
                print(f"OTLP: {selector}: the values differ from those in Prometheus")
                failed += 1
    print(f"OTLP: {points} points of {len(series)} series, {compared} series compared with Prometheus, {failed} errors")
    return failed + (points == 0)


def newest_point(bodies):
    """The time of the newest point of the last OTLP request, in seconds since 1970."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    request = ExportMetricsServiceRequest.FromString(bodies[-1] if bodies else b"")
    metrics = [metric for resource in request.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics]
    points = [point for metric in metrics for point in getattr(metric, metric.WhichOneof("data")).data_points]
    return max((point.time_unix_nano for point in points), default=0) / 1e9


def wait_for(event, has_happened):
    end = time.monotonic() + TIMEOUT_SECONDS
    while not has_happened():
        if time.monotonic() > end:
            print(f"{event}: missing after {TIMEOUT_SECONDS} s")
            return
        time.sleep(0.2)


def write_to_disk(folder, stop):
    """Writes to the disk until `stop` is set, so that the counters of disks change."""
    while not stop.wait(0.2):
        with open(folder / "written", "wb") as file:
            file.write(b"x" * (1 << 20))
            os.fsync(file.fileno())


def check(tacho, folder, seconds):
    with contextlib.ExitStack() as children:
        log = children.enter_context(open(folder / "servers.log", "w", encoding="utf-8"))
        port = free_port()
        (folder / "prometheus.yml").write_text("{}")
        prometheus = Server(
            children,
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
            + [f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver"],
            port,
            log,
        )
        port = free_port()
        victoria = Server(
            children,
            ["victoria-metrics", f"-storageDataPath={folder}/victoria", f"-httpListenAddr=127.0.0.1:{port}"]
            + ["-dedup.minScrapeInterval=1ms", "-search.latencyOffset=0s", "-search.disableCache"],
            port,
            log,
        )
        collector = Collector()
        receivers = [(prometheus, "kill"), (victoria, "terminate"), (collector, "")]
        for receiver, _ in receivers:
            receiver.start()
        blg = folder / "recorded.blg"
        command = [tacho, "record", *PATHS, "-o", blg, "-si", "1", "--to-queue", folder / "queue"]
        command += ["--to", f"prometheus={prometheus.url}", "--to", f"prometheus={victoria.url}"]
        command += ["--to", f"otlp=http://127.0.0.1:{collector.port}"]
        stop = threading.Event()
        children.callback(stop.set)
        threading.Thread(target=write_to_disk, args=(folder, stop)).start()
        recorder = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        start = time.monotonic()
        for moment in (seconds / 5, 3 * seconds / 5):
            time.sleep(max(0, start + moment - time.monotonic()))
            for receiver, method in receivers:
                receiver.end(method)
            time.sleep(DOWN_SECONDS)
            for receiver, _ in receivers:
                receiver.start()
        last_outage_end = time.time()
        time.sleep(max(0, start + seconds - time.monotonic()))
        prometheus_values = lambda selector: query_values(prometheus, selector, 600, time.time())
        victoria_values = lambda selector: exported_values(victoria, selector)
        newest_sample = lambda values_of: max((float(values[-1][0]) for values in values_of("tacho_memory_total_bytes").values()), default=0)
        wait_for("Prometheus: a sample after the outage", lambda: newest_sample(prometheus_values) > last_outage_end)
        wait_for("VictoriaMetrics: a sample after the outage", lambda: newest_sample(victoria_values) > last_outage_end)
        wait_for("OTLP: a sample after the outage", lambda: newest_point(collector.bodies) > last_outage_end)
        recorder.send_signal(signal.SIGINT)
        messages = recorder.communicate(timeout=TIMEOUT_SECONDS)[1]
        stop.set()
        print(messages, end="")
        times = times_of_log(tacho, blg)
        # The query window ends at the last sample, because the points that mark the end of the series follow a millisecond later.
        at, window = times[-1] / 1000, (times[-1] - times[0]) // 1000 + 60
        # VictoriaMetrics shows a sample up to a second after it has accepted it.
        wait_for("VictoriaMetrics: the last sample", lambda: newest_sample(victoria_values) * 1000 >= times[-1])
        failed = recorder.returncode != 0
        failed += check_times("Prometheus", prometheus, query_values, times, window, at)
        failed += check_times("VictoriaMetrics", victoria, exported_values, times, window, at)
        failed += check_averages(prometheus, tacho, blg, window, at)
        failed += check_otlp(collector.bodies, prometheus, times, window, at)
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("tacho", nargs="?", default=str(TARGET / "debug/tacho"))
    arguments = parser.parse_args()
    for program in ["prometheus", "victoria-metrics"]:
        if not shutil.which(program):
            print(f"check.py: {program} is not installed")
            return 125
    try:
        import opentelemetry.proto  # noqa: F401
    except ImportError:
        print("check.py: the Python package opentelemetry-proto is not installed")
        return 125
    if not os.access(arguments.tacho, os.X_OK):
        print(f"check.py: {arguments.tacho} is missing; build it with: cargo build -p tachograph")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        failed = check(arguments.tacho, pathlib.Path(folder), arguments.seconds)
    print("all equal" if not failed else f"{failed} errors")
    return int(bool(failed))


sys.exit(main())
