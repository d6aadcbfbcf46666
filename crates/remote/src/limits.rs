//! The bounds of the protocol. Both sides check them.

use std::time::Duration;

/// The version of the protocol, which is part of every path: `/agent/v1/...`.
pub const VERSION: u32 = 1;

/// Maximum size of a frame: a raw data block with the attributes of its instances.
pub const MAX_FRAME_BYTES: usize = 16 << 20;
/// Maximum size of a request's body.
pub const MAX_REQUEST_BYTES: usize = 1 << 20;
/// Maximum size of a response's body. Encoding a frame without a base takes up to 25 % more bytes than the frame has.
pub const MAX_RESPONSE_BYTES: usize = MAX_FRAME_BYTES + MAX_FRAME_BYTES / 4 + 4096;
/// Maximum total size of the frames that a consumer keeps as bases, over all queries of a machine.
pub const MAX_BASE_BYTES: usize = MAX_FRAME_BYTES;
/// Maximum capacity of the response buffer that a consumer keeps after a large, infrequent message.
pub const MAX_IDLE_BUFFER: usize = 32 << 10;
/// Maximum length in bytes of a string outside the descriptions of counter sets.
pub const MAX_TEXT_BYTES: usize = 4096;

/// Maximum number of counter sets of a machine.
pub const MAX_SETS: usize = 4096;
/// Maximum number of selections of a query: one for each counter set.
pub const MAX_SELECTIONS: usize = 512;
/// Maximum number of counters of a query, over all its selections.
pub const MAX_COUNTERS: usize = 65_536;
/// Maximum number of instance filters of a selection. Every collection matches each filter against each instance.
pub const MAX_FILTERS_PER_SELECTION: usize = 256;
/// Maximum number of instance filters of a query, over all its selections.
pub const MAX_FILTERS: usize = 4096;
/// Maximum number of error messages in a frame.
pub const MAX_ERRORS: usize = 1024;

/// Maximum number of queries of one client.
pub const MAX_QUERIES_PER_CLIENT: usize = 32;
/// Maximum number of queries of an agent.
pub const MAX_QUERIES: usize = 512;
/// Maximum total size of the frames that an agent keeps for one client.
pub const MAX_BYTES_PER_CLIENT: usize = 64 << 20;
/// Maximum total size of the frames that an agent keeps.
pub const MAX_BYTES: usize = 256 << 20;
/// The number of requests that a client may send at once after a pause.
pub const REQUEST_BURST: u32 = 200;
/// The number of requests per second that a client may send.
pub const REQUESTS_PER_SECOND: u32 = 100;
/// When a client at its limit opens another query, the agent closes a query that has not been collected for this long.
pub const MIN_IDLE_TO_REPLACE: Duration = Duration::from_secs(30);
/// A query that has not been collected for this long is closed.
pub const MAX_IDLE: Duration = Duration::from_secs(900);
