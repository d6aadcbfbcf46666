//! Encodes tables and scans in the messages between client, scheduler and executors.
//!
//! Everything else in a plan is encoded by DataFusion and Ballista.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::from_proto::parse_exprs;
use datafusion_proto::logical_plan::to_proto::serialize_exprs;
use datafusion_proto::logical_plan::{DefaultLogicalExtensionCodec, LogicalExtensionCodec};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf::LogicalExprNode;
use prost::Message;

use super::scan::ScanExec;
use super::table::{ClusterTable, Table};
use super::task_errors::with_message;

/// Begins each of our messages, followed by a space, the version of the program and a line feed. No message of Ballista
/// begins with `t`.
const MARK: &str = "tacho-sql";

/// A table, in the plan of a client.
#[derive(Clone, PartialEq, Message)]
struct TableMessage {
    #[prost(uint32, tag = "1")]
    table: u32,
    #[prost(bytes = "vec", repeated, tag = "2")]
    archive_files: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "3")]
    logs: Vec<LogsMessage>,
}

/// The logs of a machine.
#[derive(Clone, PartialEq, Message)]
struct LogsMessage {
    #[prost(bytes = "vec", repeated, tag = "1")]
    paths: Vec<Vec<u8>>,
}

/// A scan, in the task of an executor. Its files are in the input of the scan.
#[derive(Clone, PartialEq, Message)]
struct ScanMessage {
    #[prost(uint32, tag = "1")]
    table: u32,
    #[prost(uint32, repeated, tag = "2")]
    projection: Vec<u32>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    filters: Vec<Vec<u8>>,
}

fn encode(message: &impl Message, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(format!("{MARK} {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
    buffer.extend_from_slice(&message.encode_to_vec());
}

/// Decodes a message of ours; `None` if it is not one.
///
/// # Errors
///
/// When it is damaged, or another version of the program has encoded it.
fn decode<M: Message + Default>(bytes: &[u8]) -> Option<Result<M>> {
    let rest = bytes.strip_prefix(MARK.as_bytes())?.strip_prefix(b" ")?;
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let (version, body) = (&rest[..end], &rest[end + 1..]);
    if version != env!("CARGO_PKG_VERSION").as_bytes() {
        return Some(Err(with_message(&format!(
            "the query comes from tacho-sql {}, but this process is tacho-sql {}: use one version for the client, the \
             scheduler and the executors",
            String::from_utf8_lossy(version),
            env!("CARGO_PKG_VERSION")
        ))));
    }
    Some(M::decode(body).map_err(damaged))
}

fn damaged(error: impl std::fmt::Display) -> DataFusionError {
    with_message(&format!("a message of the cluster is damaged: {error}"))
}

fn table_of(code: u32) -> Result<Table> {
    Table::from_code(code).ok_or_else(|| damaged(format!("unknown table {code}")))
}

fn bytes_of(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect()
}

fn paths_of(paths: Vec<Vec<u8>>) -> Vec<PathBuf> {
    paths.into_iter().map(|bytes| PathBuf::from(OsString::from_vec(bytes))).collect()
}

/// Encodes the tables of logical plans.
#[derive(Debug, Default)]
pub(super) struct LogicalCodec(BallistaLogicalExtensionCodec);

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], ctx: &TaskContext) -> Result<Extension> {
        self.0.try_decode(buf, inputs, ctx)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.0.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table_ref: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        match decode::<TableMessage>(buf) {
            None => self.0.try_decode_table_provider(buf, table_ref, schema, ctx),
            Some(message) => {
                let message = message?;
                Ok(Arc::new(ClusterTable {
                    table: table_of(message.table)?,
                    archive_files: paths_of(message.archive_files),
                    logs: message.logs.into_iter().map(|logs| paths_of(logs.paths)).collect(),
                }))
            }
        }
    }

    fn try_encode_table_provider(
        &self,
        table_ref: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        let any: &dyn std::any::Any = &*node;
        match any.downcast_ref::<ClusterTable>() {
            None => self.0.try_encode_table_provider(table_ref, node, buf),
            Some(table) => {
                let message = TableMessage {
                    table: table.table.code(),
                    archive_files: bytes_of(&table.archive_files),
                    logs: table.logs.iter().map(|logs| LogsMessage { paths: bytes_of(logs) }).collect(),
                };
                encode(&message, buf);
                Ok(())
            }
        }
    }

    fn try_decode_file_format(&self, buf: &[u8], ctx: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.0.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(&self, buf: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.0.try_encode_file_format(buf, node)
    }
}

/// Encodes the scans of physical plans.
#[derive(Debug, Default)]
pub(super) struct PhysicalCodec(BallistaPhysicalExtensionCodec);

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match decode::<ScanMessage>(buf) {
            None => self.0.try_decode(buf, inputs, ctx, proto_converter),
            Some(message) => {
                let message = message?;
                let table = table_of(message.table)?;
                let [input] = inputs else { return Err(damaged("a scan without an input")) };
                let projection: Vec<usize> = message.projection.iter().map(|&at| at as usize).collect();
                let filters = filters_of(&message.filters, ctx)?;
                Ok(Arc::new(ScanExec::new(table, projection, filters, Arc::clone(input))?))
            }
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(scan) = node.downcast_ref::<ScanExec>() else {
            return self.0.try_encode(node, buf, proto_converter);
        };
        let filters = serialize_exprs(&scan.filters, &DefaultLogicalExtensionCodec {}).map_err(damaged)?;
        let message = ScanMessage {
            table: scan.table.code(),
            projection: scan.projection.iter().map(|&at| at as u32).collect(),
            filters: filters.iter().map(Message::encode_to_vec).collect(),
        };
        encode(&message, buf);
        Ok(())
    }
}

fn filters_of(filters: &[Vec<u8>], ctx: &TaskContext) -> Result<Vec<Expr>> {
    let nodes: Result<Vec<LogicalExprNode>, _> =
        filters.iter().map(|bytes| LogicalExprNode::decode(bytes.as_slice())).collect();
    parse_exprs(&nodes.map_err(damaged)?, ctx, &DefaultLogicalExtensionCodec {}).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use datafusion::logical_expr::{col, lit};
    use datafusion::prelude::SessionContext;
    use datafusion_proto::physical_plan::DefaultPhysicalProtoConverter;

    use super::super::scan::Source;
    use super::super::task_errors::message_in;
    use super::*;
    use crate::inventory::Inventory;

    fn path(bytes: &[u8]) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(bytes))
    }

    fn decoded_table(bytes: &[u8]) -> Result<Arc<dyn TableProvider>> {
        let schema = Table::Samples.schema();
        let context = SessionContext::new().task_ctx();
        LogicalCodec::default().try_decode_table_provider(bytes, &"samples".into(), schema, &context)
    }

    fn encoded_table(table: &ClusterTable) -> Vec<u8> {
        let mut bytes = Vec::new();
        LogicalCodec::default()
            .try_encode_table_provider(&"samples".into(), Arc::new(table.clone()), &mut bytes)
            .expect("encoded");
        bytes
    }

    fn table() -> ClusterTable {
        ClusterTable {
            table: Table::Inventory(Inventory::Counters),
            archive_files: vec![path(b"/a/\xff.parquet")],
            logs: vec![vec![path(b"/b.blg"), path(b"/c.blg")], vec![path(b"SQL:/d.db!x")]],
        }
    }

    #[test]
    fn tables_survive_a_message() {
        let decoded = decoded_table(&encoded_table(&table())).expect("decoded");
        let any: &dyn std::any::Any = &*decoded;
        assert_eq!(any.downcast_ref::<ClusterTable>(), Some(&table()));
    }

    #[test]
    fn other_versions_are_refused() {
        let bytes = encoded_table(&table());
        let text = format!("tacho-sql {}\n", env!("CARGO_PKG_VERSION"));
        let body = bytes.strip_prefix(text.as_bytes()).expect("the mark");
        let error = decoded_table(&[&b"tacho-sql 99.1.0\n"[..], body].concat()).expect_err("another version");
        let error = message_in(&error.to_string()).expect("a message");
        assert!(
            error.contains("comes from tacho-sql 99.1.0") && error.contains("use one version"),
            "{error}"
        );
    }

    /// Damaged messages are errors, and never panic.
    #[test]
    fn damaged_messages_are_errors() {
        let bytes = encoded_table(&table());
        for end in 0..bytes.len() {
            // A message that ends between two fields is shorter, but valid.
            let _ = decoded_table(&bytes[..end]);
        }
        let start = bytes.iter().position(|&byte| byte == b'\n').expect("the mark") + 1;
        let unknown = [&bytes[..start], &[8, 77][..]].concat();
        let error = decoded_table(&unknown).expect_err("an unknown table").to_string();
        let error = message_in(&error).expect("a message");
        assert!(error.contains("unknown table 77"), "{error}");
        let wrong = [&bytes[..start], &[0xff, 0xff, 0xff][..]].concat();
        assert!(decoded_table(&wrong).is_err());
    }

    #[test]
    fn scans_survive_a_message() {
        let filters = vec![col("set").eq(lit("Memory")), col("machine").like(lit("web-%"))];
        let partitions = [vec![Source::Archive(vec![path(b"/a.parquet")])], vec![]];
        let scan = ScanExec::from_sources(Table::Samples, vec![0, 4], filters.clone(), &partitions);
        let scan: Arc<dyn ExecutionPlan> = Arc::new(scan.expect("a scan"));
        let input = Arc::clone(scan.children()[0]);
        let (codec, converter) = (PhysicalCodec::default(), DefaultPhysicalProtoConverter {});
        let mut bytes = Vec::new();
        codec.try_encode(Arc::clone(&scan), &mut bytes, &converter).expect("encoded");
        let context = SessionContext::new().task_ctx();
        let decode =
            |bytes: &[u8]| codec.try_decode(bytes, std::slice::from_ref(&input), &context, &converter);
        let decoded = decode(&bytes).expect("decoded");
        let found = decoded.downcast_ref::<ScanExec>().expect("a scan");
        assert_eq!((found.table, &found.projection, &found.filters), (Table::Samples, &vec![0, 4], &filters));
        assert_eq!(decoded.schema(), scan.schema());
        assert_eq!(decoded.properties().output_partitioning().partition_count(), 2);
        // A column that does not exist, no input, an input that is not a list of files.
        let start = bytes.iter().position(|&byte| byte == b'\n').expect("the mark") + 1;
        assert!(decode(&[&bytes[..start], &[16, 99][..]].concat()).is_err());
        assert!(codec.try_decode(&bytes, &[], &context, &converter).is_err());
        assert!(codec.try_decode(&bytes, &[scan], &context, &converter).is_err());
    }
}
