//! Programs that read another machine, which is an agent with known values on a loopback address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Clock, Failure, InstanceKey, Provider, Registry, Rows};
use tachograph_remote::{Agent, AgentError, AgentOptions};
use tempfile::TempDir;

use crate::compiler::{Link, Program, source, succeed};
use crate::library::crate_folder;
use crate::perflib::SHORT_WCHAR;

const TOKEN: &str = "a-token-for-this-test";
const SECOND: i64 = FileTime::PER_SECOND;

/// Processors that are idle for a quarter of each second. Each collection is a second later than the previous one.
struct Processors {
    info: Arc<CounterSetInfo>,
    keys: Vec<Arc<InstanceKey>>,
}

impl Provider for Processors {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let ticks = rows.timestamps().ticks;
        for key in &self.keys {
            if rows.wants_instance(key.full_name(), key.id()) {
                // The counter 0 is the idle time, of which "% Processor Time" is the rest.
                rows.push(key).set(0, (ticks / 4) as u64);
            }
        }
        Ok(())
    }
}

/// The agent of a machine with this name.
fn agent(machine: &str) -> Agent {
    let ticks = AtomicI64::new(0);
    let clock = Clock::new(move || {
        let ticks = ticks.fetch_add(SECOND, Ordering::SeqCst) + SECOND;
        (ticks, FileTime(133_000_000_000_000_000 + ticks))
    });
    let mut registry = Registry::new(machine, clock);
    let mut known = tachograph_system::known_sets();
    let info = known.find(|info| &*info.name == "Processor Information").expect("a set of every machine");
    let keys = ["0,0", "0,1", "_Total"].into_iter().zip(0..);
    let keys = keys.map(|(name, id)| Arc::new(InstanceKey::new(name, id, 0))).collect();
    registry.register(Box::new(Processors { info, keys })).expect("a valid set");
    let registry = Arc::new(registry);
    let next = || {
        static NEXT: AtomicI64 = AtomicI64::new(1);
        NEXT.fetch_add(1, Ordering::SeqCst) as u64
    };
    Agent::new(AgentOptions {
        registry: Arc::new(move || Arc::clone(&registry)),
        boot_time: FileTime(133_000_000_000_000_000),
        id: 7,
        software: "a test".to_owned(),
        random: next,
    })
}

/// Serves an agent until the test ends; returns its port.
fn serve(agent: Agent) -> u16 {
    serve_collections(agent, i64::MAX)
}

/// Serves an agent and returns its port. After this number of collections, the next one closes the connection, and the next
/// new connection is closed at once; later connections are served without a limit.
fn serve_collections(agent: Agent, collections: i64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let (agent, collections_left) = (Arc::new(agent), Arc::new(AtomicI64::new(collections)));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            if collections_left.load(Ordering::SeqCst) == 0 {
                collections_left.store(i64::MAX, Ordering::SeqCst);
                continue;
            }
            let (agent, collections_left) = (Arc::clone(&agent), Arc::clone(&collections_left));
            std::thread::spawn(move || answer(&agent, &stream, &collections_left));
        }
    });
    port
}

/// Answers the requests of a connection until the client closes it, or requests a collection when none is left.
fn answer(agent: &Agent, stream: &TcpStream, collections_left: &AtomicI64) {
    let mut reader = BufReader::new(stream);
    let client = stream.peer_addr().expect("an address").ip().to_string();
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line == "\r\n" => break,
                Ok(_) => lines.push(line.trim_end().to_owned()),
            }
        }
        let length = lines.iter().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
        let mut request = vec![0; length];
        if reader.read_exact(&mut request).is_err() {
            return;
        }
        let is_allowed = lines.iter().any(|line| *line == format!("Authorization: Bearer {TOKEN}"));
        let first: Vec<&str> = lines[0].split(' ').collect();
        let path: Vec<&str> = first[1].split('/').skip(3).collect();
        let id = |text: &str| u64::from_str_radix(text, 16).expect("an id");
        let status = |error: AgentError| error.http_status();
        let outcome = match (first[0], &path[..]) {
            _ if !is_allowed => Err(401),
            ("GET", []) => agent.greet(&client).map_err(status),
            ("GET", ["sets"]) => agent.sets(&client).map_err(status),
            ("POST", ["instances"]) => agent.instances(&client, &request).map_err(status),
            ("POST", ["queries"]) => agent.open(&client, &request).map_err(status),
            ("POST", ["queries", query, "collect"]) => {
                if collections_left.load(Ordering::SeqCst) == 0 {
                    return;
                }
                collections_left.fetch_sub(1, Ordering::SeqCst);
                agent.collect(&client, id(query), &request).map_err(status)
            }
            ("DELETE", ["queries", query]) => {
                agent.close(&client, id(query)).map(|()| Vec::new()).map_err(status)
            }
            other => panic!("{other:?}"),
        };
        let (status, body) = outcome.map_or_else(|status| (status, Vec::new()), |body| (200, body));
        let mut reply = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        reply.extend(body);
        if (&mut &*stream).write_all(&reply).is_err() {
            return;
        }
    }
}

/// A folder of settings with this machines.toml.
fn settings_folder(machines: &str) -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tachograph/machines.toml");
    std::fs::create_dir(folder.path().join("tachograph")).expect("a folder");
    std::fs::write(&file, machines).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("the file is ours");
    folder
}

fn machine_line(name: &str, port: u16, token: &str) -> String {
    format!("{name} = {{ address = \"127.0.0.1:{port}\", token = \"{token}\" }}\n")
}

#[test]
fn all_functions_accept_the_name_of_another_machine() {
    let port = serve(agent("WEB2"));
    // The kernel accepts connections to this port, but no program answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_port = silent.local_addr().expect("its address").port();
    // The kernel does not reuse the port of a closed listener soon.
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let machines = [
        machine_line("web2", port, TOKEN),
        machine_line("wrong-token", port, "another-token-of-this-test"),
        machine_line("nothing-listens", closed.port(), TOKEN),
        machine_line("never-answers", silent_port, TOKEN),
    ];
    let folder = settings_folder(&machines.concat());
    let program = Program::compile("perflib_machine.c", "c17", Link::Shared, &[SHORT_WCHAR]);
    succeed(program.command(&[""; 0]).env("XDG_CONFIG_HOME", folder.path()));
    let folder = settings_folder("web2 = 7\n");
    succeed(program.command(&["invalid file"]).env("XDG_CONFIG_HOME", folder.path()));
}

#[test]
fn paths_name_other_machines() {
    let port = serve(agent("WEB2"));
    // The connection is lost at the third collection, and the next one is refused.
    let failing_port = serve_collections(agent("WEB3"), 2);
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_port = silent.local_addr().expect("its address").port();
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let machines = [
        machine_line("web2", port, TOKEN),
        machine_line("web3", failing_port, TOKEN),
        machine_line("wrong-token", port, "another-token-of-this-test"),
        machine_line("nothing-listens", closed.port(), TOKEN),
        machine_line("never-answers", silent_port, TOKEN),
    ];
    let folder = settings_folder(&machines.concat());
    let program = Program::compile("pdh_machine.c", "c++17", Link::Shared, &[SHORT_WCHAR, "-DUNICODE"]);
    succeed(program.command(&[""; 0]).env("XDG_CONFIG_HOME", folder.path()));
}

/// Microsoft's sample, with the name of a machine in place of its only `nullptr` for a machine.
#[test]
fn a_consumer_written_for_windows_reads_another_machine() {
    let folder = settings_folder(&machine_line("web2", serve(agent("WEB2")), TOKEN));
    let text = std::fs::read_to_string(source("cpu_perf.cpp")).expect("the sample");
    let other = text.replace("PerfOpenQueryHandle(nullptr,", r#"PerfOpenQueryHandle(L"\\\\web2","#);
    assert_ne!(other, text);
    let copy = folder.path().join("cpu_perf.cpp");
    std::fs::write(&copy, other).expect("written");
    let main = source("cpu_perf_main.cpp");
    let tests = crate_folder().join("tests/c");
    let options = [
        "-Wno-unknown-pragmas",
        SHORT_WCHAR,
        "-Wno-missing-braces",
        "-DPAUSE=1",
        "-DSAMPLES=3",
        "-I",
        tests.to_str().expect("UTF-8"),
        main.to_str().expect("UTF-8"),
    ];
    let program = Program::compile(copy.to_str().expect("UTF-8"), "c++17", Link::Static, &options);
    let mut command = program.command(&[""; 0]);
    command.current_dir(folder.path()).env("XDG_CONFIG_HOME", folder.path());
    // A second passes between two samples, a quarter of it idle; only the counter 0 has values.
    assert_eq!(succeed(&mut command), "_Total 75.000000% known 1\n".repeat(3));
}
