#!/usr/bin/env python3
"""Runs a command with ODBC data sources of servers that it starts, and stops them afterwards.

usage: servers.py COMMAND [ARGUMENT...]

The servers are PostgreSQL and MariaDB, in a temporary folder, reached through Unix sockets only. As root, they run as `nobody`.
TACHO_ODBC lists the prefixes of the data sources of installed servers and drivers: `pg`, `maria` and `lite`. Each has the data
sources PREFIX_a to PREFIX_f, which are empty databases. `none_a` is a data source whose server is missing.
The exit status is that of the command, or 125 if a server or driver is missing; then the last line says which.
"""

import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DATABASES = "abcdef"


def unprivileged(command):
    """The command, ended with this process; as nobody if this is root."""
    prefix = ["setpriv", "--pdeathsig", "KILL"]
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        prefix += ["--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups"]
    return prefix + [str(part) for part in command]


def run(command, folder, **options):
    """Runs a command, and fails with its output."""
    done = subprocess.run(unprivileged(command), cwd=folder, env=environment(folder), capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stdout}{done.stderr}")


def environment(folder):
    return {**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8"}


class Server:
    """A server process, and how to see that it accepts connections."""

    def __init__(self, folder, command, is_ready):
        log = folder / "server.log"
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                unprivileged(command), cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=output,
                stderr=output)
        for _ in range(600):
            if self.process.poll() is not None or is_ready():
                break
            time.sleep(0.1)
        else:
            self.process.kill()
        if self.process.poll() is not None:
            sys.exit(f"{command[0]} does not start:\n{log.read_text(errors='replace')}")

    def stop(self):
        self.process.kill()
        self.process.wait()


def folder_of(parent, name):
    folder = parent / name
    folder.mkdir()
    if os.getuid() == 0:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)
    return folder


def postgresql(parent):
    """Starts PostgreSQL; returns the server and the settings of its data sources, or what is missing."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        return "PostgreSQL (postgresql)"
    driver = driver_path("psqlodbcw.so")
    if not driver:
        return "its ODBC driver (odbc-postgresql)"
    programs = pathlib.Path(found[-1])
    folder = folder_of(parent, "pg")
    data = folder / "data"
    run([programs / "initdb", "-D", data, "-A", "trust", "-U", "tacho", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"], folder)
    # Commits are not synced, because killing the writer loses nothing anyway.
    command = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    psql = [programs / "psql", "-h", folder, "-U", "tacho", "-d", "postgres", "-q"]

    def is_ready():
        asked = subprocess.run(unprivileged(psql + ["-c", "SELECT 1"]), env=environment(folder), capture_output=True)
        return asked.returncode == 0

    server = Server(folder, command, is_ready)
    for letter in DATABASES:
        run(psql + ["-c", f"CREATE DATABASE {letter}"], folder)
    return server, "pg", f"Driver={driver}\nServername={folder}\nUsername=tacho\nDatabase=%s\n"


def mariadb(parent):
    """Starts MariaDB; returns the server and the settings of its data sources, or what is missing."""
    if not all(map(shutil.which, ["mariadbd", "mariadb-install-db", "my_print_defaults"])):
        return "MariaDB (mariadb-server-core, mariadb-client-core)"
    driver = driver_path("libmaodbc.so")
    if not driver:
        return "its ODBC driver (odbc-mariadb)"
    folder = folder_of(parent, "maria")
    data, socket = folder / "data", folder / "socket"
    run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
         "--skip-test-db"], folder)
    databases = folder / "databases.sql"
    databases.write_text("".join(f"CREATE DATABASE {letter};\n" for letter in DATABASES))
    server = Server(folder, ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking",
                             f"--init-file={databases}", "--innodb-flush-log-at-trx-commit=0"], socket.exists)
    return server, "maria", f"Driver={driver}\nSOCKET={socket}\nUID=root\nDATABASE=%s\n"


def sqlite(parent):
    """The settings of data sources of SQLite, which needs no server, or what is missing."""
    driver = driver_path("libsqlite3odbc.so")
    if not driver:
        return "SQLite's ODBC driver (libsqliteodbc)"
    folder = parent / "lite"
    folder.mkdir()
    return None, "lite", f"Driver={driver}\nDatabase={folder}/%s.file\nTimeout=20000\n"


def driver_path(name):
    found = glob.glob(f"/usr/lib/*/odbc/{name}") + glob.glob(f"/usr/lib*/{name}")
    return found[0] if found else None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    # An interrupt also ends the command; the folder is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    servers, sources, missing = [], [], []
    settings = "[none_a]\nDriver=/nonexistent/driver.so\n"
    with tempfile.TemporaryDirectory(prefix="tacho-odbc-") as name:
        parent = pathlib.Path(name)
        parent.chmod(0o755)
        try:
            for start in [postgresql, mariadb, sqlite]:
                started = start(parent)
                if isinstance(started, str):
                    missing.append(started)
                    continue
                server, prefix, of_source = started
                servers += [server] if server else []
                sources.append(prefix)
                for letter in DATABASES:
                    settings += f"[{prefix}_{letter}]\n" + of_source % letter
            (parent / "odbc.ini").write_text(settings)
            of_command = {**os.environ, "ODBCINI": str(parent / "odbc.ini"), "TACHO_ODBC": " ".join(sources)}
            status = subprocess.run(sys.argv[1:], env=of_command).returncode
        finally:
            for server in servers:
                server.stop()
    if status == 0 and missing:
        print("missing: " + ", ".join(missing))
        status = 125
    sys.exit(status)


main()
