//! Simulates many agents in one process, which replay recorded samples. README.md says how to use it.

#![forbid(unsafe_code)]

mod certificates;
mod options;
mod recording;
mod replay;
mod server;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tachograph_counters::civil::FileTime;
use tachograph_perflib::{Clock, Registry};
use tachograph_remote::{Agent, AgentOptions};

use certificates::Authority;
use options::Options;
use recording::Recording;
use replay::ReplayedSet;
use server::{Machine, Server};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The token of all agents.
const TOKEN: &str = "the-token-of-the-fleet";

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let recording = Recording::read(&options.log)?;
    let authority = Authority::new()?;
    let folder = options.folder.join("tachograph");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("ca.pem"), authority.pem())?;
    let (mut machines, mut file) = (Vec::new(), String::new());
    for index in 0..options.machines {
        let address = address_of(index);
        writeln!(
            file,
            "sim{index:04} = {{ address = \"{address}:{}\", ca = \"ca.pem\", token = \"{TOKEN}\", groups = [\"{}\"] }}",
            options.port,
            if index % 2 == 0 { "even" } else { "odd" },
        )?;
        machines.push(Machine {
            agent: agent(&recording, index)?,
            acceptor: authority.acceptor(address)?,
            is_stalled: index < options.stalled,
        });
    }
    let machines_file = folder.join("machines.toml");
    fs::write(&machines_file, file)?;
    fs::set_permissions(&machines_file, fs::Permissions::from_mode(0o600))?;
    let count = machines.len();
    Server { machines: Arc::new(machines), port: options.port }.run(move || {
        println!("{count} agents are ready; machines.toml is in {}", folder.display());
    })?;
    Ok(())
}

/// The address of an agent, counting up from 127.1.0.1.
fn address_of(index: usize) -> std::net::Ipv4Addr {
    let (high, low) = (index / 250, index % 250);
    std::net::Ipv4Addr::new(127, 1, (high % 256) as u8, (low + 1) as u8)
}

/// The agent of a simulated machine. Each agent replays the recording from a different sample.
fn agent(recording: &Arc<Recording>, index: usize) -> Result<Agent, Box<dyn Error>> {
    let mut registry = Registry::new(format!("sim{index:04}"), Clock::of_this_machine());
    for (set, info) in recording.sets().iter().enumerate() {
        let provider = ReplayedSet::new(recording, set, Arc::clone(info), index);
        registry.register(Box::new(provider)).map_err(|code| format!("{}: {code}", info.name))?;
    }
    let registry = Arc::new(registry);
    Ok(Agent::new(AgentOptions {
        registry: Arc::new(move || Arc::clone(&registry)),
        boot_time: FileTime(133_000_000_000_000_000),
        id: random(),
        software: "fleet".to_owned(),
        random,
    }))
}

/// Distinct numbers. They need not be unpredictable, because nobody attacks a simulation.
fn random() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed).max(1)
}
