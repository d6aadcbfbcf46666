//! Real logs, from the folder in TACHO_CORPUS.

use tachograph_monitor::{Board, LogBoard};

use crate::reference::{check, keep_going, patterns};

#[test]
fn charts_of_real_logs_have_the_statistics_of_stats() {
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else {
        eprintln!("skipped: no corpus (set TACHO_CORPUS to its folder)");
        return;
    };
    let mut charted = 0;
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let is_log =
            file.extension().is_some_and(|kind| ["blg", "csv", "tsv"].iter().any(|log| kind == *log));
        if !is_log || file.metadata().unwrap().len() > 64 << 20 {
            continue;
        }
        let Ok(mut board) = LogBoard::open(vec![file.clone()], &mut keep_going) else { continue };
        let Some(opened) = board.span() else { continue };
        let paths = patterns(&[r"\*(*)\*", r"\*\*"]);
        for bytes in [96 << 20, 1 << 20, 1 << 14] {
            board = LogBoard::open(vec![file.clone()], &mut keep_going).unwrap();
            board.set_max_bytes(bytes);
            if let Err(error) = board.set_paths(&paths, &mut keep_going) {
                panic!("{}: {error}", file.display());
            }
            let whole = board.span().unwrap();
            assert_eq!(whole, opened);
            for (share, place) in [(1.0, 0.0), (0.5, 0.3), (0.1, 0.9), (0.01, 0.5)] {
                eprintln!("{} with {bytes}, {share} at {place}", file.display());
                check(&mut board, whole.zoomed(share, place), 30);
                charted += 1;
            }
        }
    }
    assert!(charted > 0);
}
