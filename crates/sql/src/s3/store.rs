//! Lists and reads the objects of an archive in S3.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore as _, ObjectStoreExt as _, RetryConfig};
use tachograph_logs::archive::{ReadRanges, TimeSpan, files_by_machine, in_order, is_archive_file};
use tokio::runtime::Handle;

use super::S3Url;
use super::error::text_of;
use super::requests::{common, requests};
use crate::failure::Failure;
use crate::location::ArchiveLocation;

/// How often a request is repeated. Each attempt ends after 30 seconds, or after AWS_TIMEOUT.
const MAX_RETRIES: usize = 3;
/// No further attempt begins after this time.
const RETRY_TIME: Duration = Duration::from_secs(60);
/// Maximum number of requests of a thread at the same time.
const PARALLEL_REQUESTS: usize = 4;
/// Maximum number of announced bytes that a thread keeps until they are read.
const MAX_KEPT_BYTES: u64 = 16 << 20;

/// A bucket.
struct Bucket {
    client: AmazonS3,
    /// The runtime of the requests.
    runtime: Handle,
}

/// An object, as it was when the bucket was listed.
#[derive(Clone)]
pub(crate) struct Object {
    /// The URL.
    path: PathBuf,
    meta: ObjectMeta,
    bucket: Arc<Bucket>,
}

/// Lists the objects of an archive, of a machine, or of a date, or returns the object with this key.
///
/// # Errors
///
/// When the bucket cannot be listed, there are no files of an archive, or files of a machine overlap in time.
pub(crate) async fn list(url: &S3Url) -> Result<Vec<Object>, Failure> {
    let failed = |error: object_store::Error| Failure::runtime(format!("{url}: {}", text_of(&error)));
    let retry = RetryConfig { max_retries: MAX_RETRIES, retry_timeout: RETRY_TIME, ..RetryConfig::default() };
    let client = AmazonS3Builder::from_env().with_bucket_name(url.bucket()).with_retry(retry).build();
    let bucket = Arc::new(Bucket { client: client.map_err(failed)?, runtime: Handle::current() });
    let prefix = object_store::path::Path::parse(url.key()).map_err(|error| failed(error.into()))?;
    if is_archive_file(Path::new(url.key())) {
        let meta = bucket.client.head(&prefix).await.map_err(failed)?;
        return Ok(vec![Object { path: url.to_string().into(), meta, bucket }]);
    }
    let objects = bucket.client.list(Some(&prefix));
    let is_file =
        |meta: &ObjectMeta| meta.location.filename().is_some_and(|name| is_archive_file(Path::new(name)));
    let files = objects.try_filter(|meta| std::future::ready(is_file(meta)));
    let files: Vec<ObjectMeta> = files.try_collect().await.map_err(failed)?;
    let root = if url.key().is_empty() { 0 } else { url.key().len() + 1 };
    let paths: Vec<&str> =
        files.iter().map(|meta| meta.location.as_ref().get(root..).unwrap_or_default()).collect();
    let mut found = Vec::new();
    for machine in files_by_machine(&paths) {
        let object = |&index: &usize| {
            let meta: &ObjectMeta = &files[index];
            let path = PathBuf::from(format!("s3://{}/{}", url.bucket(), meta.location));
            (path.clone(), Object { path, meta: meta.clone(), bucket: Arc::clone(&bucket) })
        };
        let mut objects: BTreeMap<PathBuf, Object> = machine.iter().map(object).collect();
        let times = |path: &Path| -> Result<TimeSpan, _> {
            ArchiveLocation::Object(objects[path].clone()).open().map(|rows| rows.times())
        };
        let ordered = in_order(objects.keys().cloned().collect(), times)?;
        found.extend(ordered.into_iter().filter_map(|file| objects.remove(&file.path)));
    }
    match found.is_empty() {
        true => Err(Failure::runtime(format!(
            "{url}: there are no files of an archive, which are named machine=NAME/date=YYYY-MM-DD/*.parquet"
        ))),
        false => Ok(found),
    }
}

impl Object {
    /// The URL.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.meta.size
    }

    /// Reads the bytes of the object.
    pub(crate) fn reader(&self) -> ObjectReader {
        ObjectReader { object: self.clone(), kept: BTreeMap::new(), kept_bytes: 0 }
    }

    /// Requests a range, unless the object was replaced since the bucket was listed.
    async fn get(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let failed = |error: object_store::Error| io::Error::other(text_of(&error));
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.meta.e_tag.clone(),
            // For stores without entity tags.
            if_unmodified_since: self.meta.e_tag.is_none().then_some(self.meta.last_modified),
            ..GetOptions::default()
        };
        let response = self.bucket.client.get_opts(&self.meta.location, options).await.map_err(failed)?;
        let expected = range.end - range.start;
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
        let mut parts = response.into_stream();
        while let Some(part) = parts.try_next().await.map_err(failed)? {
            bytes.extend_from_slice(&part);
            if bytes.len() as u64 > expected {
                break;
            }
        }
        match bytes.len() as u64 == expected {
            true => Ok(bytes),
            false => Err(io::Error::other(format!(
                "the store sent {} instead of {expected} bytes from offset {}",
                bytes.len(),
                range.start
            ))),
        }
    }

    /// Requests ranges. Calls `each` with each response and the offset of its first byte, in order.
    fn get_each(&self, ranges: &[Range<u64>], mut each: impl FnMut(u64, Vec<u8>)) -> io::Result<()> {
        let requests = requests(ranges, self.size());
        let get =
            |range: Range<u64>| async move { Ok::<_, io::Error>((range.start, self.get(range).await?)) };
        let all = async {
            let mut responses = stream::iter(requests).map(get).buffered(PARALLEL_REQUESTS);
            while let Some((start, bytes)) = responses.try_next().await? {
                each(start, bytes);
            }
            Ok(())
        };
        tokio::task::block_in_place(|| self.bucket.runtime.block_on(all))
    }
}

/// Objects are compared by their URLs.
impl Ord for Object {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.path.cmp(&other.path)
    }
}

impl PartialOrd for Object {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Object {}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.fmt(f)
    }
}

/// Reads an object. Must be used on a thread of a multi-threaded runtime.
pub(crate) struct ObjectReader {
    object: Object,
    /// Announced bytes, by their offset.
    kept: BTreeMap<u64, Vec<u8>>,
    kept_bytes: u64,
}

impl ObjectReader {
    /// The parts of a range; `None` if one of its bytes is not kept.
    fn kept_parts(&self, range: &Range<u64>) -> Option<Vec<&[u8]>> {
        let (mut parts, mut at) = (Vec::new(), range.start);
        while at < range.end {
            let (&start, bytes) = self.kept.range(..=at).next_back()?;
            let part = common(&(at..range.end), start, bytes);
            if part.is_empty() {
                return None;
            }
            parts.push(part);
            at += part.len() as u64;
        }
        Some(parts)
    }
}

impl ReadRanges for ObjectReader {
    fn size(&mut self) -> io::Result<u64> {
        Ok(self.object.size())
    }

    fn read_ranges(&mut self, ranges: &[Range<u64>], buffer: &mut Vec<u8>) -> io::Result<()> {
        let kept: Option<Vec<_>> = ranges.iter().map(|range| self.kept_parts(range)).collect();
        if let Some(kept) = kept {
            kept.into_iter().flatten().for_each(|part| buffer.extend_from_slice(part));
            return Ok(());
        }
        self.object.get_each(ranges, |start, bytes| {
            for range in ranges {
                buffer.extend_from_slice(common(range, start, &bytes));
            }
        })
    }

    fn prepare(&mut self, ranges: &[Range<u64>]) -> io::Result<()> {
        let (mut missing, mut missing_bytes) = (Vec::new(), 0u64);
        for range in ranges {
            let bytes = range.end.min(self.object.size()).saturating_sub(range.start);
            // The others are requested when they are read.
            if missing_bytes.saturating_add(bytes) <= MAX_KEPT_BYTES && self.kept_parts(range).is_none() {
                missing_bytes += bytes;
                missing.push(range.clone());
            }
        }
        if self.kept_bytes + missing_bytes > MAX_KEPT_BYTES {
            self.kept.clear();
            self.kept_bytes = 0;
        }
        let Self { object, kept, kept_bytes } = self;
        object.get_each(&missing, |start, bytes| {
            *kept_bytes += bytes.len() as u64;
            kept.insert(start, bytes);
        })
    }
}
