//! Reading on another thread.

use tachograph_counters::sample::Sample;
use tachograph_flow::{FlowError, Readahead, Source};

use crate::fixture::{Samples, Table, all, cells, sample};

fn many(count: i64) -> Vec<Sample> {
    let mut table = Table::new("M", "X", &["C"]);
    (0..count).map(|at| sample(at, vec![table.group(&[("a", &[(at, 0)])])])).collect()
}

#[test]
fn readahead_keeps_the_samples_and_their_order() {
    for count in [0, 1, 1023, 1024, 5000] {
        let samples = many(count);
        let expected: Vec<_> = samples.iter().map(cells).collect();
        let source = Readahead::new(Samples::new(samples)).expect("a thread");
        assert_eq!(all(source).iter().map(cells).collect::<Vec<_>>(), expected, "{count}");
    }
}

/// A source that fails or panics after some samples.
struct Breaks {
    samples: Samples,
    panics: bool,
}

impl Source for Breaks {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        match self.samples.next(sample)? {
            true => Ok(true),
            false if self.panics => panic!("a source that breaks"),
            false => Err(FlowError::NewGroups),
        }
    }
}

#[test]
fn an_error_follows_the_samples_before_it() {
    let source = Breaks { samples: Samples::new(many(2000)), panics: false };
    let mut source = Readahead::new(source).expect("a thread");
    let mut sample = Sample::default();
    for _ in 0..2000 {
        assert!(source.next(&mut sample).expect("no error yet"));
    }
    assert!(matches!(source.next(&mut sample), Err(FlowError::NewGroups)));
    assert!(matches!(source.next(&mut sample), Ok(false)));
}

#[test]
#[should_panic = "a source that breaks"]
fn a_panic_of_the_source_panics_the_consumer() {
    let source = Breaks { samples: Samples::new(many(3)), panics: true };
    all(Readahead::new(source).expect("a thread"));
}

#[test]
fn dropping_the_consumer_ends_the_thread() {
    let (done, ended) = std::sync::mpsc::channel();
    struct DropSignal(Samples, std::sync::mpsc::Sender<()>);
    impl Source for DropSignal {
        fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
            self.0.next(sample)
        }
    }
    impl Drop for DropSignal {
        fn drop(&mut self) {
            // If the test has failed, the receiver was dropped.
            let _ = self.1.send(());
        }
    }
    let mut source = Readahead::new(DropSignal(Samples::new(many(100_000)), done)).expect("a thread");
    assert!(source.next(&mut Sample::default()).expect("no error"));
    drop(source);
    ended.recv().expect("the thread ends and drops its source");
}
