//! Compares the writer with a Python decoder that was written from the format's description alone.

use std::path::Path;
use std::process::Command;

use crate::fixture;
use tachograph_cpi::trace::Trace;
use tachograph_cpi::{CpiData, Measured, Mode, ProcessorData};

fn decimal(value: Option<f64>) -> String {
    format!("{:.4}", value.unwrap_or(0.0))
}

fn detailed(line: &mut Vec<String>, measured: &Measured, is_scaled: bool) {
    line.push(format!("instr={}", measured.instructions));
    line.push(format!("cycles={}", measured.cycles));
    line.push(format!("cpi={}", decimal(measured.cpi())));
    if is_scaled {
        line.push(format!("cycles_scaled={}", measured.cycles_scaled));
        line.push(format!("cpi_scaled={}", decimal(measured.cpi_scaled())));
        line.push(format!("busy={}", decimal(measured.busy_percent())));
    }
}

/// The lines that the decoder should print for a measurement with all data.
fn lines(data: &CpiData, minor: u8, label: &str) -> Vec<String> {
    let CpiData { elapsed_cycles, is_scaled, system, .. } = data;
    let elapsed = format!("elapsed={elapsed_cycles}");
    let hex: String = label.bytes().map(|byte| format!("{byte:02x}")).collect();
    let start = format!("start {elapsed} label={hex}");
    let measured = || data.processors.iter().map(|ProcessorData { measured, .. }| measured);
    let joined = |of: &dyn Fn(&Measured) -> String| measured().map(of).collect::<Vec<_>>().join(",");

    let kinds = u32::from(!data.processors.is_empty()) | if *is_scaled { 2 } else { 0 };
    let thread = if data.thread.is_some() { 4 } else { 0 };
    let both = |measured: &Measured| {
        format!("{}/{}", decimal(measured.cpi_scaled()), decimal(measured.busy_percent()))
    };
    let mut summary = vec![
        format!("summary kinds={} cpus={} {elapsed}", kinds | thread, data.processors.len()),
        format!("raw={}", joined(&|measured| decimal(measured.cpi()))),
        format!("sys={}", decimal(system.cpi())),
    ];
    if *is_scaled {
        summary.push(format!("scaled={}", joined(&both)));
        summary.push(format!("sys_scaled={}", both(system)));
    }
    summary.extend(data.thread.map(|thread| format!("thread={}", decimal(thread.cpi()))));

    let mut lines = vec![start.clone(), summary.join(" ")];
    if !data.processors.is_empty() {
        let mut line = vec![format!("system kinds={kinds} {elapsed}")];
        detailed(&mut line, system, *is_scaled);
        lines.push(line.join(" "));
        let mut line = vec![format!("processors kinds={kinds} {elapsed}")];
        measured().for_each(|measured| detailed(&mut line, measured, *is_scaled));
        lines.push(line.join(" "));
    }
    if let Some(thread) = &data.thread {
        let mut line = vec![format!("thread tid={} {elapsed}", data.tid)];
        let measured =
            Measured { instructions: thread.instructions, cycles: thread.cycles, ..Measured::default() };
        detailed(&mut line, &measured, false);
        lines.push(line.join(" "));
    }
    lines.push(start.replacen("start", "end", 1));
    lines.into_iter().map(|line| format!("{minor} {} {line}", data.ended_at)).collect()
}

#[test]
fn an_independent_decoder_reads_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.nrm2");
    let trace = Trace::create(&path).expect("a file");
    let mut expected = Vec::new();
    for (minor, (processors, is_scaled, has_thread)) in
        [(1, false, false), (3, true, false), (3, false, true), (64, true, true), (0, false, true)]
            .into_iter()
            .enumerate()
    {
        let mut data = fixture::data(processors, is_scaled, has_thread);
        data.ended_at += minor as u64;
        if processors == 3 {
            // Processor 0 has counts that need two words, processor 1 executed no instructions, processor 2 has no data.
            data.processors[0].measured.cycles = u64::MAX;
            data.processors[1].measured.instructions = 0;
            data.processors[2] = ProcessorData::default();
            data.processors[0].measured.instructions = 0x1234_5678_9ABC;
        }
        let label = format!("label {minor} ß");
        trace.write(&data, minor as u8, Mode::TRACE_EVERYTHING, Some(&label)).expect("a file");
        expected.extend(lines(&data, minor as u8, &label));
    }
    trace.close().expect("a file");
    let bytes = std::fs::metadata(&path).expect("a file").len() - 512;
    let (start, stop) = (fixture::ENDED_AT, fixture::ENDED_AT + 4);
    expected.insert(0, format!("section data={bytes} start={start} stop={stop}"));

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace_independent.py");
    let output = match Command::new("python3").arg(script).arg(&path).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: python3 cannot be run: {error}");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let found: Vec<_> = text.lines().collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}
