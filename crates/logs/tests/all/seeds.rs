//! Runs the seeds of the fuzz targets as a plain test. If TACHO_WRITE_SEEDS is set, the generated seeds are rewritten
//! first.

use crate::checks;
use crate::fixture;

use std::path::PathBuf;

use fixture::block::{Block, Counter, Instance, Object};
use fixture::{Entry, LogBuilder, multi, put, single, single_with};

fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// Runs a target's check on its seeds, after writing the generated ones.
fn run(target: &str, generated: &[(&str, Vec<u8>)], check: fn(&[u8])) {
    if std::env::var_os("TACHO_WRITE_SEEDS").is_some() {
        std::fs::create_dir_all(folder(target)).expect("a writable folder");
        for (name, bytes) in generated {
            std::fs::write(folder(target).join(name), bytes).expect("a writable folder");
        }
    }
    let mut count = 0;
    for entry in std::fs::read_dir(folder(target)).expect("the folder of the seeds") {
        let path = entry.expect("an entry").path();
        eprintln!("{}", path.display());
        check(&std::fs::read(&path).expect("readable"));
        count += 1;
    }
    assert!(count >= generated.len(), "{count} seeds");
    for (name, bytes) in generated {
        let stored = std::fs::read(folder(target).join(name)).expect("checked in");
        assert!(
            stored == *bytes,
            "{name} differs from what this test generates: run it with TACHO_WRITE_SEEDS=1"
        );
    }
}

fn logs() -> Vec<(&'static str, Vec<u8>)> {
    let mut mixed = LogBuilder::new(1024);
    mixed.list(&[Entry::single("System", None, "Calls"), Entry::multi("Thread", "Time")]);
    for n in 0..3 {
        mixed.sample(n, &[single(n, n, 1), multi(n, &[("a/0", n, 1), ("a/0", n, 2), ("_Total", n, 3)])]);
    }
    mixed.sample(3, &[single_with(0x8000_07D0, 3, 0, 0), multi(3, &[])]);

    let count = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };
    let average = [
        Counter { counter_type: 0x4002_0500, ..count },
        Counter { counter_type: 0x4003_0402, bytes: 4, ..count },
    ];
    let mut blocks = LogBuilder::new(1024).narrow();
    blocks.names(r"\\MADE", &[(230, "Process"), (232, "Thread"), (6, "Time")]);
    blocks.list(&[Entry::block("Thread"), Entry { instance: None, ..Entry::block("System") }]);
    for n in 0..2 {
        let process = Object::new(230, &[count], &[Instance::new("a", &[n])]);
        let thread = Object::new(232, &average, &[Instance::new("0", &[n, 1]).with_parent(230, 0)]);
        let alone = Object::without_instances(2, &[count], &[n]);
        let records = [Block::new(n, &[process, thread]).record(), Block::new(n, &[alone]).record()];
        blocks.parts(fixture::SAMPLE, n, &fixture::sample(&records), 300);
    }

    let mut circular = LogBuilder::new(1024);
    circular.log_file_mode = 2;
    circular.sample(2, &[single(2, 2, 1)]);
    circular.next_buffer();
    circular.list(&[Entry { head_bytes: 0x38, ..Entry::single("System", None, "Calls") }]);
    circular.sample(1, &[single(1, 1, 1)]);
    circular.sequence = vec![8, 7];

    let mut damaged = mixed.file();
    let length = damaged.len();
    put(&mut damaged, 1024 + 0x30, &100u32.to_le_bytes());
    put(&mut damaged, length - 500, &[0; 200]);
    vec![
        ("mixed.blg", mixed.file()),
        ("blocks.blg", blocks.file()),
        ("circular.blg", circular.file()),
        ("damaged.blg", damaged),
    ]
}

#[test]
fn blg() {
    run("blg", &logs(), checks::blg);
}

#[test]
fn archive() {
    run("archive", &[], checks::archive);
}

#[test]
fn blg_raw() {
    run("blg_raw", &logs(), checks::blg_raw);
}

/// The seeds are cells of rows, because a database file would be too large for a seed.
#[test]
fn sql() {
    let usual = vec![0; 60];
    let indexes: Vec<u8> = (0..40).flat_map(|row| [0, 1, 2, 2, row, 0, 0, 0, 0, 0, 0, row << 4]).collect();
    let texts: Vec<u8> = (0..120)
        .flat_map(|column| [3, column, 4, 2, b'7', b' ', column, 6, column, column, 5, 1, 0])
        .collect();
    let numbers: Vec<u8> = (0..120).flat_map(|column| [1, column, column % 4, 200 + column % 50]).collect();
    let generated = [("usual", usual), ("indexes", indexes), ("texts", texts), ("numbers", numbers)];
    run("sql", &generated, crate::sql_checks::sql);
}

#[test]
fn text() {
    let csv = concat!(
        r#""(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\M\S\A","\\M\S(i, ""x"")\B""#,
        "\r\n\"02/19/2013 18:50:17.844\",\" \",\"1.5\"\r\n\"02/19/2013 18:50:18.844\",\"-0.10000000000000001\",\"1e300\"\r\n",
    );
    let tsv = csv.replace(',', "\t").replace("CSV", "TSV");
    let rows = "\"02/19/2013 18:50:17.844\",\"1\",\"2\"\r\n\"13/19/2013 18:50:18\",\"x\"\r\n02/19/2013 18:50:19.1,3,\r\n";
    let generated = [("log.csv", csv.into()), ("log.tsv", tsv.into()), ("rows.txt", rows.into())];
    run("text", &generated, checks::text);
}

#[test]
fn json() {
    let first =
        r#"{"time":"2013-02-19T18:50:17.844-08:00","values":{"\\M\S\A":null,"\\M\S(i, \"x\")\B":1.5}}"#;
    let second = r#"{"values":{"\\M\S(j)\A":-1e-300,"no path":true},"time":"filetime:5","more":[{}]}"#;
    let rest = r#""\\M\S(i)\B":[1,{"a":2}],"\\M\S\A":0.10000000000000001"#;
    let utf16 = first.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let lines = format!("{first}\n{second}\n");
    let generated = [("lines.json", lines.into()), ("values.json", rest.into()), ("utf16.json", utf16)];
    run("json", &generated, checks::json);
}

#[test]
fn path() {
    let paths = [
        r"\\MACHINE\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read",
        r"\Processor(*)\% Processor Time",
        r"\Thread(svchost/1#12)\Context Switches/sec",
        r"\Set(a(b)c#d)\Counter (x)",
        r"\Memory\*",
        r"\\host\Set(*/*#*)\*",
    ];
    let names = ["full", "wildcard", "parent", "brackets", "all", "stars"];
    let generated: Vec<_> =
        names.iter().zip(paths).map(|(name, path)| (*name, path.as_bytes().to_vec())).collect();
    run("path", &generated, checks::path);
}
