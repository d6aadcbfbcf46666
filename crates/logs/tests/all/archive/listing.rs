//! The files of an archive that is a list of paths are those of a local folder.

use tachograph_logs::archive::{archive_inputs, date_folders, entries, files_by_machine, is_archive_file};

use super::generated::TempFolder;

/// Creates the files, so that the local functions find the same.
#[test]
fn the_files_are_those_of_a_local_folder() {
    let layouts: [&[&str]; 5] = [
        &[
            "machine=a/date=2026-11-25/000000-000100.parquet",
            "machine=a/date=2026-11-25/.000000-000100.parquet",
            "machine=a/date=2026-11-25/notes.txt",
            "machine=a/date=2026-11-25/deeper/000200-000300.parquet",
            "machine=a/date=2026-11-26/000000-000100.parquet",
            "machine=a/000200-000300.parquet",
            "machine=a/_open/20261125-000507.250-x.blg",
            "machine=b/000200-000300.parquet",
            "machine=c/other/000200-000300.parquet",
            "000400-000500.parquet",
            "other/date=2026-11-25/000000-000100.parquet",
        ],
        &["date=2026-11-25/000000-000100.parquet", "000400-000500.parquet", "x/date=1/a.parquet"],
        &["000400-000500.parquet", "x.parquet", "x.txt", "y/x.parquet"],
        &["x.txt", "y/x.parquet"],
        &[],
    ];
    for paths in layouts {
        let root = TempFolder::new();
        for path in paths {
            let path = root.0.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(path, "").expect("written");
        }
        let mut local = Vec::new();
        for machine in archive_inputs(&root.0).unwrap_or_default() {
            for date in date_folders(&machine.folder).expect("dates") {
                local.extend(entries(&date).expect("files").into_iter().filter(|path| is_archive_file(path)));
            }
        }
        let mut found: Vec<_> =
            files_by_machine(paths).into_iter().flatten().map(|index| root.0.join(paths[index])).collect();
        found.sort();
        local.sort();
        assert_eq!(found, local);
    }
    assert_eq!(files_by_machine(layouts[0]), [vec![0, 4], vec![7]]);
}
