//! `tacho agent` and the commands that read another machine, as processes on loopback addresses.

mod messages;
mod outages;
mod served_clients;
mod several;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder with the agent's files and a consumer's machines.toml.
struct Setup {
    folder: TempDir,
    /// The line that `setup` printed.
    line: String,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let agent = folder.path().join("agent");
        let output =
            tacho(&folder, &["agent", "setup", "--name", "web1", "--address", "127.0.0.1:1", "--folder"])
                .arg(&agent)
                .output()
                .expect("tacho runs");
        assert!(output.status.success(), "{output:?}");
        let line = String::from_utf8(output.stdout).expect("UTF-8");
        Self { folder, line }
    }

    fn agent_file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("agent").join(name)
    }

    /// Writes machines.toml with this text.
    fn write_machines(&self, text: &str) {
        let folder = self.folder.path().join("config/tachograph");
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("machines.toml");
        std::fs::write(&file, text).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    }

    /// The printed line with another port.
    fn line_for(&self, port: u16) -> String {
        self.line.replace("127.0.0.1:1\"", &format!("127.0.0.1:{port}\""))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        tacho(&self.folder, arguments).output().expect("tacho runs")
    }

    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The messages of a command that fails.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    }
}

fn tacho(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tacho"));
    command.args(arguments).env("XDG_CONFIG_HOME", folder.path().join("config"));
    command.env("TACHO_RUNTIME_DIR", folder.path()).env("TACHO_MMV_DIR", "");
    command
}

/// A running agent, which is killed when dropped.
struct Agent {
    child: Child,
    port: u16,
    /// Keeps the pipe open.
    _err: BufReader<std::process::ChildStderr>,
}

impl Agent {
    fn start(setup: &Setup) -> Self {
        Self::start_on(setup, 0)
    }

    fn start_on(setup: &Setup, port: u16) -> Self {
        Self::start_with(setup, port, &[])
    }

    fn start_with(setup: &Setup, port: u16, more: &[&str]) -> Self {
        let mut command =
            tacho(&setup.folder, &["agent", "--listen", &format!("127.0.0.1:{port}"), "--folder"]);
        command.arg(setup.folder.path().join("agent")).args(more).stderr(Stdio::piped());
        let mut child = command.spawn().expect("tacho runs");
        let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        err.read_line(&mut line).expect("a line");
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        Self { child, port: port.unwrap_or_else(|| panic!("no port: '{line}'")), _err: err }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn setup_creates_secret_files_and_keeps_them() {
    let setup = Setup::new();
    let mode =
        |name: &str| std::fs::metadata(setup.agent_file(name)).expect("a file").permissions().mode() & 0o777;
    assert_eq!((mode("key.pem"), mode("token"), mode("cert.pem")), (0o600, 0o600, 0o644));
    assert!(
        setup.line.starts_with("web1 = { address = \"127.0.0.1:1\", fingerprint = \"sha256:"),
        "{}",
        setup.line
    );
    assert_eq!(setup.line.lines().count(), 1);
    let folder = setup.agent_file("");
    let again =
        tacho(&setup.folder, &["agent", "setup", "--name", "web1", "--address", "127.0.0.1:1", "--folder"])
            .arg(folder)
            .output()
            .expect("tacho runs");
    assert_eq!(String::from_utf8_lossy(&again.stdout), setup.line);
    // An agent rejects a token file that other users can read.
    std::fs::set_permissions(setup.agent_file("token"), std::fs::Permissions::from_mode(0o644))
        .expect("a mode");
    let folder = setup.agent_file("").display().to_string();
    let refused = setup.fails(&["agent", "--listen", "127.0.0.1:0", "--folder", &folder]);
    assert!(refused.contains("chmod g-w,o-rw"), "{refused}");
}

#[test]
fn another_machine_is_listed_queried_and_recorded() {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    setup.write_machines(&setup.line_for(agent.port));
    let here = setup.prints(&["list", "-q", "Memory"]);
    assert_eq!(setup.prints(&["list", "-q", "-s", "web1", "Memory"]), here);
    assert_eq!(setup.prints(&["list", "-q", r"\\web1\Memory\Available*"]).lines().count(), 3);
    assert!(setup.prints(&["list", "-s", r"\\WEB1"]).contains("PhysicalDisk"));
    let json =
        setup.prints(&["query", "-s", "web1", r"\System\Processes", "-si", "0.2", "-sc", "2", "-f", "json"]);
    assert_eq!(json.lines().count(), 2);
    assert!(json.contains(r"\\\\web1\\System\\Processes"), "{json}");
    // Both machines are the same computer: compares values that change rarely.
    let paths = [r"\\web1\Memory\Commit Limit", r"\Memory\Commit Limit"];
    let both = setup.prints(&["query", paths[0], paths[1], "-si", "0.2", "-sc", "1", "-f", "csv", "-o", "-"]);
    let row: Vec<&str> = both.lines().last().expect("a row").split(',').collect();
    assert!(row.len() == 3 && row[1] == row[2] && row[1] != "\" \"", "{both}");
    let log = setup.folder.path().join("web1.blg").display().to_string();
    setup.prints(&[
        "record",
        "-s",
        "web1",
        r"\Processor Information(*)\*",
        r"\System\*",
        "-si",
        "0.2",
        "-sc",
        "3",
        "-o",
        &log,
    ]);
    let listed = setup.prints(&["list", &log]);
    assert!(listed.contains(r"\\web1") && listed.contains("Processor Information"), "{listed}");
    let checked = setup.prints(&["stats", &log, "-c", r"\System\Processes", "-f", "json"]);
    assert!(checked.contains("\"values\":3"), "{checked}");
}

#[test]
fn groups_and_patterns_select_machines() {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    let line = setup.line_for(agent.port);
    let with_group = line.replace(" }", ", groups = [\"web\"] }");
    setup.write_machines(
        &(with_group.clone() + &with_group.replace("web1 =", "web2 =") + &line.replace("web1 =", "db =")),
    );
    for (selected, count) in [("@web", 2), ("@all", 3), ("web*", 2), ("d?", 1)] {
        let json = setup.prints(&[
            "query",
            "-s",
            selected,
            r"\System\Processes",
            "-si",
            "0.2",
            "-sc",
            "1",
            "-f",
            "json",
        ]);
        assert_eq!(json.matches("Processes").count(), count, "{selected}: {json}");
    }
    let failed = setup.fails(&["query", "-s", "@none", r"\System\Processes"]);
    assert!(failed.contains("groups = [\"none\"]"), "{failed}");
}

/// A server that sends bytes to each connection without end.
fn hostile(send: fn(&mut std::net::TcpStream)) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                send(&mut stream);
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

#[test]
fn hostile_agents_do_not_delay_or_stop_a_consumer_of_others() {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    let slow = hostile(|stream| {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
        for byte in answer.iter().chain([&0_u8; 1000]) {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    let huge = hostile(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n");
        while stream.write_all(&[0; 65536]).is_ok() {}
    });
    let endless_header = hostile(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X: y\r\n").is_ok() {}
    });
    let mut machines = setup.line_for(agent.port);
    for (name, port) in [("slow", slow), ("huge", huge), ("endless", endless_header)] {
        machines += &format!("{name} = {{ address = \"127.0.0.1:{port}\" }}\n");
    }
    setup.write_machines(&machines);
    let start = Instant::now();
    let output =
        setup.run(&["query", "-s", "@all", r"\System\Processes", "-si", "0.5", "-sc", "4", "-f", "json"]);
    let taken = start.elapsed();
    assert!(output.status.success(), "{output:?}");
    let json = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(json.matches(r"\\\\web1\\System\\Processes").count(), 4, "{json}");
    let messages = String::from_utf8(output.stderr).expect("UTF-8");
    for name in ["slow", "huge", "endless"] {
        assert!(messages.contains(&format!(r"\\{name}: ")), "{messages}");
    }
    // Five seconds for the slow machine at the start, then five samples.
    assert!(taken < Duration::from_secs(30), "{taken:?}");
}

#[test]
fn a_restarted_agent_is_found_again() {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    let port = agent.port;
    setup.write_machines(&setup.line_for(port));
    let mut command =
        tacho(&setup.folder, &["query", "-s", "web1", r"\System\Processes", "-si", "0.2", "-f", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("tacho runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("UTF-8");
    let has_value = |line: &str| !line.contains("null") && line.contains("Processes");
    // On a busy machine, an agent can need longer than an interval.
    let until = Instant::now() + Duration::from_secs(20);
    while !has_value(&next()) {
        assert!(Instant::now() < until, "the agent runs, but no value arrives");
    }
    drop(agent);
    let until = Instant::now() + Duration::from_secs(20);
    while has_value(&next()) {
        assert!(Instant::now() < until, "the agent was killed, but values arrive");
    }
    let _agent = Agent::start_on(&setup, port);
    while !has_value(&next()) {
        assert!(
            Instant::now() < until + Duration::from_secs(20),
            "the agent was restarted, but no values arrive"
        );
    }
    let _ = child.kill();
    let _ = child.wait();
    assert!(Path::new(env!("CARGO_BIN_EXE_tacho")).exists());
}

/// A certificate with its key, which an authority has signed, or which signs itself.
struct Certificate {
    certificate: std::path::PathBuf,
    key: std::path::PathBuf,
}

impl Certificate {
    /// Writes the files of a new certificate.
    fn new(folder: &Path, name: &str, authority: Option<&rcgen::Issuer<'_, rcgen::KeyPair>>) -> Self {
        let key = rcgen::KeyPair::generate().expect("a key");
        let parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("valid parameters");
        let certificate = match authority {
            Some(authority) => parameters.signed_by(&key, authority),
            None => parameters.self_signed(&key),
        };
        let files = Self {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}-key.pem")),
        };
        std::fs::write(&files.certificate, certificate.expect("a certificate").pem()).expect("written");
        std::fs::write(&files.key, key.serialize_pem()).expect("written");
        std::fs::set_permissions(&files.key, std::fs::Permissions::from_mode(0o600)).expect("a mode");
        files
    }

    /// The line of machines.toml with this certificate and without a token.
    fn line(&self, line: &str) -> String {
        let (head, _) = line.split_once(", token = ").expect("a token");
        self.appended_to(head)
    }

    /// The line of machines.toml with this certificate and the token.
    fn line_with_token(&self, line: &str) -> String {
        self.appended_to(line.trim_end().strip_suffix(" }").expect("a table"))
    }

    fn appended_to(&self, head: &str) -> String {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        format!("{head}, client_cert = \"{certificate}\", client_key = \"{key}\" }}\n")
    }
}

#[test]
fn consumers_are_accepted_by_their_certificates() {
    let setup = Setup::new();
    let folder = setup.folder.path();
    let authority_key = rcgen::KeyPair::generate().expect("a key");
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).expect("valid parameters");
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).expect("a certificate");
    let authority_file = folder.join("authority.pem");
    std::fs::write(&authority_file, authority.pem()).expect("written");
    let issuer = rcgen::Issuer::new(parameters, authority_key);
    let signed = Certificate::new(folder, "signed", Some(&issuer));
    let pinned = Certificate::new(folder, "pinned", None);
    let unknown = Certificate::new(folder, "unknown", None);
    let fingerprint =
        tachograph_remote::Fingerprint::of_file(&pinned.certificate).expect("a certificate").to_string();
    let query = ["query", "-s", "web1", r"\System\Processes", "-si", "0.2", "-sc", "1", "-f", "json"];
    let authority_file = authority_file.display().to_string();
    let by_authority = ["--client-ca", &*authority_file];
    let by_both = ["--client-ca", &*authority_file, "--client-fingerprint", &fingerprint];
    let by_fingerprint = ["--client-fingerprint", &*fingerprint];
    for (arguments, accepted, refused) in [
        (&by_authority[..], &[&signed][..], &[&pinned, &unknown][..]),
        (&by_fingerprint, &[&pinned], &[&signed, &unknown]),
        (&by_both, &[&signed, &pinned], &[&unknown]),
    ] {
        let agent = Agent::start_with(&setup, 0, arguments);
        let line = setup.line_for(agent.port);
        for one in accepted {
            setup.write_machines(&one.line(&line));
            assert!(setup.prints(&query).contains("Processes"), "{arguments:?}");
        }
        for one in refused {
            setup.write_machines(&one.line(&line));
            let message = setup.fails(&query);
            assert!(message.contains("--client-fingerprint"), "{arguments:?}: {message}");
        }
        // The token of the setup is not sufficient.
        setup.write_machines(&line);
        let message = setup.fails(&query);
        assert!(message.contains("client_cert") && message.contains("--client-ca"), "{message}");
    }
    setup.write_machines(&signed.line(&setup.line).replace("client_key", "client_keys"));
    assert!(setup.fails(&query).contains("client_keys"));
    std::fs::set_permissions(&signed.key, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    setup.write_machines(&signed.line(&setup.line));
    let message = setup.fails(&query);
    assert!(message.contains("chmod g-w,o-rw"), "{message}");
}

#[test]
fn an_agent_sends_samples_too() {
    let setup = Setup::new();
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = receiver.local_addr().expect("an address").port();
    let queue = setup.folder.path().join("queue").display().to_string();
    let target = format!("prometheus=http://127.0.0.1:{port}");
    let sending =
        ["--to", &target, "--to-interval", "0.2", "--to-queue", &queue, "--metrics", r"\System\Processes"];
    let agent = Agent::start_with(&setup, 0, &sending);
    let (mut stream, _) = receiver.accept().expect("a connection");
    let mut request = [0; 4096];
    let length = stream.read(&mut request).expect("a request");
    let request = String::from_utf8_lossy(&request[..length]).to_ascii_lowercase();
    assert!(request.starts_with("post /api/v1/write "), "{request}");
    assert!(request.contains("content-encoding: snappy"), "{request}");
    // It serves consumers meanwhile.
    setup.write_machines(&setup.line_for(agent.port));
    assert!(setup.prints(&["list", "-q", "-s", "web1", "System"]).contains("Processes"));
}
