//! Prints the processor time that a sample of each counter set of this machine costs, the most expensive first.
//!
//! `cargo run --release -p tachograph-system --example set_cost`

#![allow(missing_docs, reason = "a program")]

use rustix::time::{ClockId, clock_gettime};
use tachograph_perflib::{Clock, Rows};
use tachograph_system::Roots;

const SAMPLES: usize = 201;

fn main() {
    let clock = Clock::of_this_machine();
    let mut costs: Vec<(f64, usize, String)> = Vec::new();
    for mut provider in tachograph_system::providers(&Roots::of_this_machine()) {
        let mut rows = Rows::unfiltered(provider.info().clone());
        let mut times: Vec<f64> = (0..SAMPLES)
            .map(|_| {
                rows.clear(clock.now());
                let before = microseconds();
                provider.collect(&mut rows).expect("collected");
                microseconds() - before
            })
            .collect();
        times.sort_by(f64::total_cmp);
        costs.push((times[SAMPLES / 2], rows.instances().len(), provider.info().name.to_string()));
    }
    costs.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("{:>10} {:>9}  set", "µs", "instances");
    for (cost, instances, set) in &costs {
        println!("{cost:10.1} {instances:9}  {set}");
    }
    let of_tasks = ["Process", "Process V2", "Thread"];
    let others = costs.iter().filter(|(_, _, set)| !of_tasks.contains(&set.as_str()));
    println!(
        "{:10.1}            all sets except {}",
        others.map(|(cost, _, _)| cost).sum::<f64>(),
        of_tasks.join(", ")
    );
}

/// Processor time of this program.
fn microseconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
