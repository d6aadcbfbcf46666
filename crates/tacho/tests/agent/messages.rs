//! Messages of `tacho agent`, `tacho serve` and consumers, and what they must not contain.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tachograph_remote::{Fingerprint, HttpTransport, Method, Token, Transport as _, Trust};

use crate::{Agent, Setup, tacho};

#[test]
fn messages_contain_the_remedy() {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    let line = setup.line_for(agent.port);
    let query = |name: &str| setup.fails(&["query", "-s", name, r"\System\Processes", "-sc", "1"]);

    setup.write_machines(&line);
    let unknown = query("web2");
    assert!(unknown.trim_end().ends_with("did you mean 'web1'?"), "{unknown}");
    let unknown = query("production");
    assert!(unknown.contains("run 'tacho agent setup' on that machine"), "{unknown}");
    let unmatched = query("production*");
    assert!(unmatched.contains("no machine matches 'production*'; known machines: web1"), "{unmatched}");
    let by_address = query("127.0.0.1");
    assert!(by_address.contains("is the address of 'web1'; use this name"), "{by_address}");
    let no_counter = setup.fails(&["query", "-s", "web1", r"\System\Procesess", "-sc", "1"]);
    assert!(no_counter.contains(r"is not on \\web1") && no_counter.contains("did you mean"), "{no_counter}");

    let start = line.find("sha256:").expect("a fingerprint") + 7;
    let digit = if line[start..].starts_with('0') { "1" } else { "0" };
    setup.write_machines(&format!("{}{digit}{}", &line[..start], &line[start + 1..]));
    let refused = query("web1");
    assert!(refused.contains("fingerprint") && refused.contains("is expected"), "{refused}");

    let (head, _) = line.split_once("token = ").expect("a token");
    setup.write_machines(&format!("{head}token = \"0123456789abcdef\" }}\n"));
    let denied = query("web1");
    assert!(denied.contains("refuses the token") && denied.contains("tacho agent setup"), "{denied}");
    setup.write_machines(&format!("{} }}\n", head.trim_end().trim_end_matches(',')));
    let missing = query("web1");
    assert!(missing.contains("requires a token, and 'web1' has none"), "{missing}");
    setup.write_machines(&format!("{head}token_file = \"~/token\" }}\n"));
    let home = query("web1");
    assert!(home.contains("'~/token': '~' is not expanded"), "{home}");

    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    setup.write_machines(&setup.line_for(free));
    let absent = query("web1");
    assert!(absent.contains("start one on that machine with 'tacho agent'"), "{absent}");

    setup.write_machines(&line);
    let file = setup.folder.path().join("config/tachograph/machines.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let exposed = query("web1");
    assert!(exposed.contains("chmod 600"), "{exposed}");
    setup.write_machines("web1 = { adress = \"10.0.0.1\" }");
    let wrong = query("web1");
    assert!(wrong.contains("adress") && wrong.contains("machines.toml"), "{wrong}");
}

#[test]
fn errors_in_machines_toml_do_not_contain_its_lines() {
    let setup = Setup::new();
    const TOKEN: &str = "a2ab6f0123456789a2ab6f0123456789";
    for (text, expected) in [
        // The quote at the end is missing.
        (
            format!("web1 = {{ address = \"h\" }}\ndb = {{ address = \"h\", token = \"{TOKEN} }}\n"),
            "line 2, column ",
        ),
        (format!("db = {{ address = \"h\", token = {TOKEN} }}"), "line 1, column 31: "),
        (format!("db = {{ address = \"h\", token = [\"{TOKEN}\"] }}"), "line 1, column 31: "),
        (format!("db = \"{TOKEN}\""), "line 1, column 6: expected a table"),
        (
            format!("db = {{ address = \"h\", token = \"{TOKEN}\", groups = \"{TOKEN}\" }}"),
            ": expected a sequence",
        ),
    ] {
        setup.write_machines(&text);
        let message = setup.fails(&["query", "-s", "db", r"\System\Processes", "-sc", "1"]);
        assert!(message.contains("machines.toml: line ") && message.contains(expected), "{message}");
        assert!(!message.contains("a2ab6f") && !message.contains(r"\u{a}"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_list_of_names_selects_machines() {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    let line = setup.line_for(agent.port);
    let named = |name: &str| line.replace("web1 =", &format!("{name} ="));
    setup.write_machines(&(line.clone() + &named("web2") + &named("db")));
    for (list, count) in [("web1,db", 2), ("db, web?, web1", 3)] {
        let query = ["query", "-s", list, r"\System\Processes", "-si", "0.2", "-sc", "1", "-f", "json"];
        assert_eq!(setup.prints(&query).matches("Processes").count(), count, "{list}");
    }
    let failed = setup.fails(&["query", "-s", "web1,dba", r"\System\Processes"]);
    assert!(failed.contains("unknown machine 'dba'; did you mean 'db'?"), "{failed}");
}

#[test]
fn an_agent_names_its_option_for_a_busy_port_and_says_that_it_stopped() {
    let setup = Setup::new();
    let folder = setup.agent_file("").display().to_string();
    let mut command = tacho(&setup.folder, &["agent", "--listen", "127.0.0.1:0", "--folder", &folder]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("tacho runs");
    let mut messages = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let listens = messages.next().expect("a line").expect("UTF-8");
    let address = listens.rsplit(' ').next().expect("an address").to_owned();
    let busy = setup.fails(&["agent", "--listen", &address, "--folder", &folder]);
    assert!(busy.contains("is in use; choose another with --listen"), "{busy}");
    let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a signal");
    let stopped = messages.next().expect("a line").expect("UTF-8");
    assert!(child.wait().expect("ended").success() && stopped.ends_with("agent stopped"), "{stopped}");
}

#[test]
fn setup_keeps_the_key_if_only_the_certificate_is_removed() {
    let setup = Setup::new();
    let key = || std::fs::read_to_string(setup.agent_file("key.pem")).expect("a key");
    let before = key();
    std::fs::remove_file(setup.agent_file("cert.pem")).expect("removed");
    let folder = setup.agent_file("").display().to_string();
    let output = setup.run(&["agent", "setup", "--folder", &folder]);
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && key() == before, "{messages}");
    assert!(
        messages.contains("created cert.pem in") && messages.contains("kept key.pem, token in"),
        "{messages}"
    );
    assert!(messages.contains("or restart it"), "{messages}");
    // The certificate belongs to the key.
    let agent = Agent::start(&setup);
    let line = String::from_utf8(output.stdout).expect("UTF-8");
    let address = line.split('"').nth(1).expect("an address");
    let (name, _) = line.split_once(" =").expect("a name");
    setup.write_machines(
        &line.replace(address, &format!("127.0.0.1:{}", agent.port)).replacen(name, "web1", 1),
    );
    setup.prints(&["list", "-q", "-s", "web1", "System"]);
}

/// The first lines of `tacho serve` on standard error, up to one that contains `last`.
fn served_messages(setup: &Setup, arguments: &[&str], last: &str) -> String {
    let mut command = tacho(&setup.folder, &["serve", "-si", "0.3"]);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("tacho runs");
    let mut messages = String::new();
    for line in BufReader::new(child.stderr.take().expect("a pipe")).lines() {
        messages += &(line.expect("UTF-8") + "\n");
        if messages.contains(last) {
            break;
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    messages
}

#[test]
fn serve_says_who_can_connect_and_which_machines_answer() {
    let setup = Setup::new();
    let [certificate, key, token] =
        ["cert.pem", "key.pem", "token"].map(|name| setup.agent_file(name).display().to_string());
    let refused = setup.fails(&["serve", "--listen", "0.0.0.0:0"]);
    assert!(refused.contains("--token-file admits only clients with the token"), "{refused}");
    assert!(refused.contains("encrypts the connections, but admits everyone"), "{refused}");
    let everyone = ["--listen", "0.0.0.0:0", "--tls-cert", &certificate, "--tls-key", &key];
    let everyone = served_messages(&setup, &everyone, "\n");
    assert!(everyone.contains("everyone who can reach the server can read"), "{everyone}");
    let plain = served_messages(&setup, &["--listen", "0.0.0.0:0", "--token-file", &token], "\n");
    assert!(plain.contains("clients need the token, but the connections are not encrypted"), "{plain}");

    let agent = Agent::start(&setup);
    let line = setup.line_for(agent.port);
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    setup.write_machines(&(line + &setup.line_for(free).replace("web1 =", "absent =")));
    let machines = served_messages(&setup, &["--port", "0", "-s", "@all"], "serving ");
    assert!(machines.contains(r"serving \\absent (no answer), \\web1"), "{machines}");
    assert_eq!(machines.matches("no agent answers").count(), 1, "{machines}");
}

#[test]
fn an_agent_has_metrics_with_the_same_access_as_its_counters() {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    let fingerprint = Fingerprint::of_file(&setup.agent_file("cert.pem")).expect("a certificate");
    let token = Token::read(&setup.agent_file("token")).expect("a token");
    let get = |path: &str, token: Option<Token>| {
        let trust = Trust::Fingerprint(fingerprint);
        let mut transport =
            HttpTransport::new("web1", "127.0.0.1", agent.port, Some(&trust), token).expect("a transport");
        let mut body = Vec::new();
        let until = Instant::now() + Duration::from_secs(30);
        let answer = transport.exchange(Method::Get, path, &[], &mut body, until).expect("an answer");
        (answer.status, String::from_utf8(body).expect("UTF-8"))
    };
    let (status, text) = get("/metrics?path=%5CSystem%5CProcesses", Some(token.clone()));
    assert!(status == 200 && text.contains("\ntacho_system_processes"), "{status}: {text}");
    assert_eq!(get("/metrics", None).0, 401);
    assert_eq!(get("/metrics", Some(Token::new("0123456789abcdef").expect("a token"))).0, 401);
    let (status, text) = get("/api/openapi.json", Some(token));
    assert!(status == 404 && text.contains("an agent has /metrics"), "{status}: {text}");
}

#[test]
fn an_agent_without_setup_refuses_other_host_names() {
    let setup = Setup::new();
    let folder = setup.folder.path().join("none").display().to_string();
    let mut command = tacho(&setup.folder, &["agent", "--listen", "127.0.0.1:0", "--folder", &folder]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("tacho runs");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let (address, _) = line.split_once(" (this machine only").expect("an agent");
    let address = address.rsplit(' ').next().expect("an address");
    let get = |host: &str| {
        let mut stream = TcpStream::connect(address).expect("an agent");
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("UTF-8");
        response
    };
    // Without a token, a page of another site could otherwise read the counters (DNS rebinding).
    assert!(get("evil.example").starts_with("HTTP/1.1 421"));
    assert!(get(address).starts_with("HTTP/1.1 200"));
    let _ = child.kill();
    let _ = child.wait();
}
