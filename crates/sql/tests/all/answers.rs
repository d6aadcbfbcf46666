//! Runs queries in this process.

use std::path::PathBuf;

use datafusion::arrow::array::{AsArray as _, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use futures::StreamExt as _;
use tachograph_sql::{Engine, EngineOptions, Failure, Inputs};

/// The result of a query.
pub(crate) struct Answer {
    pub(crate) batch: RecordBatch,
    /// Number of bytes that were read.
    pub(crate) bytes_read: u64,
}

/// Runs a query over logs and archives on `threads` threads.
pub(crate) fn try_query(inputs: &[PathBuf], sql: &str, threads: usize) -> Result<Answer, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let options = EngineOptions { threads, ..EngineOptions::default() };
        let engine = Engine::new(Inputs::new(inputs).await?, &options).await?;
        let (schema, mut stream) = engine.run(sql).await?;
        let mut batches = Vec::new();
        while let Some(batch) = stream.next().await {
            batches.push(batch.expect("a batch"));
        }
        let batch = concat_batches(&schema, &batches).expect("batches of one schema");
        Ok(Answer { batch, bytes_read: engine.bytes_read() })
    })
}

/// The result of a query that succeeds.
#[track_caller]
pub(crate) fn query(inputs: &[PathBuf], sql: &str) -> Answer {
    match try_query(inputs, sql, 2) {
        Ok(answer) => answer,
        Err(failure) => panic!("{sql}: {}", failure.message()),
    }
}

impl Answer {
    pub(crate) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column of texts.
    pub(crate) fn texts(&self, column: usize) -> Vec<Option<String>> {
        let texts = self.batch.column(column).as_string_view();
        texts.iter().map(|text| text.map(str::to_owned)).collect()
    }

    /// A column of doubles.
    pub(crate) fn doubles(&self, column: usize) -> Vec<Option<f64>> {
        self.batch.column(column).as_primitive::<Float64Type>().iter().collect()
    }

    /// A column of integers.
    pub(crate) fn integers(&self, column: usize) -> Vec<Option<i64>> {
        self.batch.column(column).as_primitive::<Int64Type>().iter().collect()
    }
}
