//! Measures a region of a program: `cargo run -p tachograph-cpi --example region [-- --user]`.

use std::hint::black_box;

use tachograph_cpi::{Cpi, Error, Mode, Options};

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Error> {
    let user_only = std::env::args().any(|argument| argument == "--user");
    let mut thread = Cpi::new(Options { mode: Mode::ON_THREAD, user_only, ..Options::default() })?;
    thread.start()?;
    let sum: u64 = (0..1_000_000_u64).map(|number| black_box(number) / 7).sum();
    let data = thread.get()?;
    black_box(sum);
    if let Some(counts) = &data.thread {
        println!("{} instructions in {} core cycles", counts.instructions, counts.core_cycles);
        println!("cycles per instruction: {:.3}", counts.core_cpi().unwrap_or(f64::NAN));
    }
    if data.is_user_only {
        println!("(user code only)");
    }
    thread.notes().iter().for_each(|note| println!("{note}"));

    let mut system = Cpi::new(Mode::RAW | Mode::SCALED)?;
    std::thread::sleep(std::time::Duration::from_millis(200));
    let data = system.get()?;
    println!("system: {:?}", data);
    println!(
        "cpi {:?}, while busy {:?}, busy {:?} %",
        data.system.cpi(),
        data.system.cpi_scaled(),
        data.system.busy_percent()
    );
    Ok(())
}
