//! Generates a table of the page's files, each without comments and compressed, which is built into the library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[path = "build/strip.rs"]
mod strip;

/// Extensions and media types of the page's files.
const KINDS: [(&str, &str); 5] = [
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=page");
    println!("cargo::rerun-if-changed=build");
    let page = Path::new("page");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut files = Vec::new();
    if page.is_dir() {
        find(page, &mut files)?;
    }
    files.sort();
    let mut table = String::from("static ASSETS: &[Asset] = &[\n");
    for (index, file) in files.iter().enumerate() {
        let Some((_, kind)) = KINDS.iter().find(|(extension, _)| has_extension(file, extension)) else {
            continue;
        };
        let name = file.strip_prefix(page).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let bytes = stripped(file, fs::read(file)?)?;
        fs::write(out.join(index.to_string()), &bytes)?;
        let compressed = fs::File::create(out.join(format!("{index}.gz")))?;
        zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, &*bytes, compressed)?;
        // Writing into a String cannot fail.
        let _ = writeln!(
            table,
            "    Asset {{ name: {name:?}, kind: {kind:?}, etag: \"\\\"{:016x}\\\"\", \
             bytes: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{index}\")), \
             gzip: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{index}.gz\")) }},",
            hash(&bytes)
        );
    }
    table.push_str("];\n");
    fs::write(out.join("assets.rs"), table)
}

/// Removes comments and unneeded white space from a script or style sheet of this project, and the indentation of its
/// document. Other files stay unchanged; those in `vendor` keep their licences.
fn stripped(file: &Path, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let strip = match file.extension().and_then(|extension| extension.to_str()) {
        _ if file.parent().is_some_and(|folder| folder.ends_with("vendor")) => return Ok(bytes),
        Some("js") => strip::javascript,
        Some("css") => strip::css,
        Some("html") => strip::html,
        _ => return Ok(bytes),
    };
    let problem =
        |text: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {text}", file.display()));
    let source = String::from_utf8(bytes).map_err(|error| problem(error.to_string()))?;
    strip(&source).map(String::into_bytes).map_err(problem)
}

fn has_extension(file: &Path, expected: &str) -> bool {
    file.extension().is_some_and(|extension| extension == expected)
}

/// All files of a folder and its subfolders, except those that npm installs.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "node_modules") {
                find(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, which distinguishes versions of a file.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
