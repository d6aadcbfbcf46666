#!/usr/bin/env python3
"""Checks that `tacho serve` stays within its memory limits under attack, and releases memory.

    run.py [TACHO]            the program to test; default: target/debug/tacho

Starts the server in a memory cgroup of 1 GiB (as root; otherwise with a limit of its address space). The attack: 500 streams,
1,200 connections that send half a request, uploads of 16 text logs with 300,000 columns each and of 240 damaged binary logs.
The server must survive, serve other clients within seconds, reject requests with a status and an error message, and have less
than 100 MiB of resident memory after the attack.

Connects only to 127.0.0.1. The damage is the same in every run. Ends after about ten minutes at the latest. Exit status: 0
passed; 1 failed; 125 a requirement is missing.
"""

import collections
import http.client
import json
import os
import pathlib
import random
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

#: Limit on the server's memory during the attack, in bytes.
LIMIT = 1 << 30
#: Limit on the server's resident memory after the attack, in bytes.
RESIDENT = 100 << 20
#: The numbers of streams, slow connections, wide text logs, columns of a wide log, and damaged logs.
STREAMS, SLOW, WIDE, COLUMNS, DAMAGED = 500, 1200, 16, 300_000, 240
#: Time limit of the attack, in seconds.
LONGEST = 600
#: Allowed statuses of rejected requests.
REJECTIONS = {400, 404, 408, 409, 413, 429, 503, 507}


def die(why):
    print(f"http-memory: {why}", file=sys.stderr)
    sys.exit(125)


class MemoryLimit:
    """The memory limit of the server: a cgroup of version 1 or 2, or a limit of its address space."""

    def __init__(self):
        self.folder = None
        for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            folder = pathlib.Path(root) / f"tacho-http-memory-{os.getpid()}"
            try:
                folder.mkdir()
                (folder / limit).write_text(str(LIMIT))
            except OSError:
                if folder.is_dir():
                    folder.rmdir()
                continue
            self.folder = folder
            break
        where = f"the cgroup {self.folder}" if self.folder else "a limit of the address space (RLIMIT_AS): no memory cgroup"
        print(f"limit: {LIMIT >> 20} MiB by {where}")

    def enter(self):
        """Applies the limit to the calling process; called in the server's process before exec."""
        if self.folder:
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))
        else:
            resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))

    def facts(self):
        """The cgroup's statistics, as text."""
        names = ("memory.max_usage_in_bytes", "memory.peak", "memory.failcnt", "memory.oom_control", "memory.events")
        found = {name: (self.folder / name) for name in names if self.folder}
        return ", ".join(f"{name} {' '.join(path.read_text().split())}" for name, path in found.items() if path.exists())

    def leave(self):
        for _ in range(50):
            try:
                return self.folder and self.folder.rmdir()
            except OSError:
                time.sleep(0.1)


class Server:
    def __init__(self, tacho, memory_limit, folder):
        self.messages = open(folder / "messages", "w+")
        command = [tacho, "serve", "--port", "0", "-c", r"\Memory\*", r"\Processor Information(*)\*"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.messages, text=True, preexec_fn=memory_limit.enter)
        line = self.process.stdout.readline().strip()
        if not line:
            die(f"the server ended: {(folder / 'messages').read_text()}")
        self.port = urllib.parse.urlsplit(line).port

    def memory(self, name):
        """A field of the server's /proc/PID/status in bytes, such as VmRSS; 0 if the server has ended."""
        try:
            text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            return int(text.split(f"{name}:")[1].split()[0]) << 10
        except (OSError, IndexError):
            return 0

    def ask(self, method, path, body=None, source="127.0.0.1"):
        """Sends a request; returns status and body. Retries if the connection is refused or closed."""
        for attempt in range(8):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120, source_address=(source, 0))
            try:
                kind = {"Content-Type": "application/octet-stream"} if body is not None else {}
                connection.request(method, path, body, kind)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                if self.process.poll() is not None or attempt == 7:
                    raise
                time.sleep(0.25)
            finally:
                connection.close()


class Trial:
    def __init__(self, server):
        self.server = server
        self.statuses = collections.Counter()
        self.messages = collections.Counter()
        self.states = collections.Counter()
        self.faults = []
        self.slowest = 0.0
        self.is_over = threading.Event()
        self.lock = threading.Lock()
        self.end = time.monotonic() + LONGEST

    def ask(self, method, path, body=None):
        status, response = self.server.ask(method, path, body)
        with self.lock:
            self.statuses[status] += 1
            if status >= 400:
                try:
                    self.messages[json.loads(response)["error"]] += 1
                except (ValueError, KeyError):
                    self.faults.append(f"{method} {path}: {status} without an error message: {response[:100]}")
                if status not in REJECTIONS:
                    self.faults.append(f"{method} {path}: status {status}")
        return status, response

    def upload(self, name, body):
        """Uploads a log and queries it; returns its id. Retries while the limit of uploads is reached."""
        while time.monotonic() < self.end:
            status, response = self.ask("POST", f"/api/upload?name={name}", body)
            if status != 429:
                break
            time.sleep(0.2)
        if status != 201:
            return None
        source = json.loads(response)
        while source["state"] == "reading" and time.monotonic() < self.end:
            time.sleep(0.1)
            source = json.loads(self.ask("GET", f"/api/sources/{source['id']}")[1])
        with self.lock:
            self.states[source["state"]] += 1
            if source["error"]:
                self.messages[source["error"]] += 1
        path = urllib.parse.quote(r"\Process(*)\*" if name.endswith("csv") else r"\Memory\*")
        for what in (f"series?path={path}", f"statistics?path={path}", "statistics", "sets"):
            self.ask("GET", f"/api/sources/{source['id']}/{what}")
        return source["id"]

    def close(self, source):
        if source is not None:
            self.ask("DELETE", f"/api/sources/{source}")

    def watch(self):
        """Sends requests as another client, and measures the slowest response, until the attack ends."""
        while not self.is_over.wait(0.5):
            began = time.monotonic()
            try:
                status, _ = self.server.ask("GET", "/api/sources", source="127.0.0.3")
            except (OSError, http.client.HTTPException) as problem:
                return self.faults.append(f"another client got no response: {problem}")
            self.slowest = max(self.slowest, time.monotonic() - began)
            if status != 200:
                self.faults.append(f"another client: status {status}")


class Connections:
    """Connections whose data is read and discarded."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.all, self.bytes, self.open = [], 0, 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.read)

    def connect(self, port, source, text):
        connection = socket.create_connection(("127.0.0.1", port), 60, (source, 0))
        self.all.append(connection)
        try:
            connection.sendall(text)
        except OSError:
            return
        connection.setblocking(False)
        self.selector.register(connection, selectors.EVENT_READ)
        self.open += 1

    def read(self):
        while not self.is_over.is_set():
            for key, _ in self.selector.select(0.2):
                try:
                    data = key.fileobj.recv(1 << 16)
                except OSError:
                    data = b""
                self.bytes += len(data)
                if not data:
                    self.selector.unregister(key.fileobj)
                    self.open -= 1

    def close(self):
        self.is_over.set()
        self.thread.join()
        for connection in self.all:
            connection.close()


def wide(columns):
    """A text log with this number of columns and two rows."""
    names = ",".join(f'"\\\\M\\Process(p{number})\\ID Process"' for number in range(columns))
    rows = (f'"01/02/2024 00:00:0{row}.000"' + ',"1"' * columns for row in range(2))
    return "\r\n".join([f'"(PDH-CSV 4.0) (UTC)(0)",{names}', *rows, ""]).encode()


def damaged(log, seed):
    """Damages a log: changes bytes, truncates it, or duplicates a part."""
    chance = random.Random(seed)
    log = bytearray(log)
    for _ in range(chance.choice((1, 10, 100, 1000))):
        log[chance.randrange(len(log))] = chance.randrange(256)
    if seed % 3 == 1:
        del log[chance.randrange(1, len(log)) :]
    if seed % 3 == 2:
        at = chance.randrange(len(log))
        log[at:at] = log[chance.randrange(len(log)) :]
    return bytes(log)


def in_threads(count, jobs):
    """Runs jobs on this number of threads."""
    jobs, lock = iter(jobs), threading.Lock()

    def work():
        while True:
            with lock:
                job = next(jobs, None)
            if job is None:
                return
            job()

    threads = [threading.Thread(target=work) for _ in range(count)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    tacho = sys.argv[1] if len(sys.argv) > 1 else str(target / "debug" / "tacho")
    if not os.access(tacho, os.X_OK):
        die(f"{tacho} does not exist: cargo build -p tachograph")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 4096:
        die(f"4096 open files are required; the limit is {hard} (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        log = folder / "recorded.blg"
        record = [tacho, "record", r"\Memory\*", r"\Processor Information(*)\*", r"\Process(*)\*", "-si", "0.1", "-sc", "10"]
        subprocess.run([*record, "-o", str(log)], check=True, capture_output=True)
        memory_limit = MemoryLimit()
        server = Server(tacho, memory_limit, folder)
        signal.signal(signal.SIGALRM, lambda *_: server.process.kill())
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        signal.alarm(LONGEST + 60)
        try:
            return trial(server, memory_limit, log.read_bytes())
        finally:
            server.process.terminate()
            server.process.wait()
            memory_limit.leave()


def trial(server, memory_limit, log):
    mib = lambda name: f"{name} {server.memory(name) / (1 << 20):.1f} MiB"
    print(f"started: {mib('VmRSS')}")
    trial, streams, slow = Trial(server), Connections(), Connections()
    others = threading.Thread(target=trial.watch)
    [thread.start() for thread in (others, streams.thread, slow.thread)]
    paths = [r"\Memory\*", r"\Processor Information(*)\*", r"\System\*", r"\Process(*)\ID Process"]
    for number in range(STREAMS):
        path = urllib.parse.quote(paths[number % len(paths)])
        text = f"GET /api/stream?path={path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
        streams.connect(server.port, "127.0.0.1", text.encode())
    for _ in range(SLOW):
        slow.connect(server.port, "127.0.0.2", b"GET / HTTP/1.1\r\nHost: 127")
    time.sleep(2)
    print(f"{streams.open} streams, {slow.open} of {SLOW} slow connections open: {mib('VmRSS')}")
    body = wide(COLUMNS)
    opened = []
    in_threads(4, (lambda: opened.append(trial.upload("wide.csv", body)) for _ in range(WIDE)))
    print(f"{WIDE} wide logs of {len(body) / (1 << 20):.1f} MiB: {dict(trial.states)}, {mib('VmRSS')}, {mib('VmHWM')}")
    for source in opened:
        trial.close(source)
    trial.states.clear()
    in_threads(4, (lambda seed=seed: trial.close(trial.upload("damaged.blg", damaged(log, seed))) for seed in range(DAMAGED)))
    print(f"{DAMAGED} damaged logs: {dict(trial.states)}, {mib('VmRSS')}, {mib('VmHWM')}")
    if streams.open != STREAMS:
        trial.faults.append(f"{streams.open} of {STREAMS} streams remain")
    print(f"{streams.open} streams remain, and received {streams.bytes / (1 << 20):.1f} MiB")
    trial.is_over.set()
    [one.close() for one in (streams, slow)]
    others.join()
    until = time.monotonic() + 60
    while server.memory("VmRSS") >= RESIDENT and time.monotonic() < until:
        time.sleep(0.5)
    if server.process.poll() is not None:
        trial.faults.append(f"the server ended with status {server.process.returncode}")
    elif server.memory("VmRSS") >= RESIDENT:
        trial.faults.append(f"{mib('VmRSS')} are resident after all logs were closed")
    elif server.ask("GET", "/api/sources")[0] != 200:
        trial.faults.append("the server does not respond any more")
    print(f"all closed: {mib('VmRSS')}, {mib('VmHWM')}; {memory_limit.facts()}")
    print(f"the slowest response to another client took {trial.slowest:.2f} s")
    print(f"statuses: {dict(sorted(trial.statuses.items()))}")
    for message, count in trial.messages.most_common(8):
        print(f"  {count:5} {message[:200]}")
    for fault in trial.faults[:20]:
        print(f"http-memory: {fault}", file=sys.stderr)
    return 1 if trial.faults else 0


if __name__ == "__main__":
    sys.exit(main())
