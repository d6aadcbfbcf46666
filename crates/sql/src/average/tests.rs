use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator as _};
use tachograph_counters::CounterType;

use super::GroupAverages;
use super::group_state::GroupState;
use super::rows::Rows;

const ROWS: usize = 4000;
const GROUPS: usize = 7;

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A number that stays the same for several rows.
    fn runs<T: Copy>(&mut self, choices: &[T]) -> Vec<T> {
        let mut all = Vec::new();
        while all.len() < ROWS {
            let length = usize::try_from(1 + self.below(60)).expect("a small number");
            let chosen = usize::try_from(self.below(choices.len() as u64)).expect("an index");
            all.extend(std::iter::repeat_n(choices[chosen], length.min(ROWS - all.len())));
        }
        all
    }
}

/// A batch with runs of equal types, factors, multipliers and groups, and with rows that lack numbers.
fn batch(numbers: &mut Numbers, types: &[Option<&str>]) -> ([ArrayRef; 9], Vec<usize>) {
    let groups = numbers.runs(&std::array::from_fn::<usize, GROUPS, _>(|group| group));
    let has_num = numbers.runs(&[true, true, true, false]);
    let has_den = numbers.runs(&[true, true, true, false]);
    let has_value = numbers.runs(&[false, false, false, true]);
    let mut number = |exists: bool, signed: bool| {
        let magnitude = i64::try_from(numbers.below(1 << 30)).expect("31 bits") << 31;
        exists.then_some(if signed && magnitude & (1 << 40) != 0 { -magnitude } else { magnitude })
    };
    let nums: Int64Array = has_num.iter().map(|&exists| number(exists, true)).collect();
    let dens: Int64Array = has_den.iter().map(|&exists| number(exists, false)).collect();
    let values: Float64Array =
        has_value.iter().map(|&exists| number(exists, true).map(|value| value as f64)).collect();
    let columns: [ArrayRef; 9] = [
        Arc::new(StringViewArray::from_iter(numbers.runs(types))),
        Arc::new(Float64Array::from(numbers.runs(&[1.0, 100.0, 1e-7, 1e7]))),
        Arc::new(nums),
        Arc::new(dens),
        Arc::new(values),
        Arc::new(Int32Array::from(numbers.runs(&[None, None, Some(1), Some(1), Some(0), Some(4)]))),
        Arc::new(TimestampMicrosecondArray::from_iter_values(0..ROWS as i64).with_timezone("UTC")),
        Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n("ms", ROWS))),
        Arc::new(StringViewArray::from_iter(numbers.runs(&[Some("Reads"), Some("Writes"), None]))),
    ];
    (columns, groups)
}

/// The states, bit by bit, are those of the same rows, added one at a time.
#[test]
fn sums_of_runs_equal_those_of_single_rows() {
    let mut numbers = Numbers(1);
    for counter_type in CounterType::all() {
        let Some(formula) = counter_type.formula() else { continue };
        // All types with the formula of this one, and rows without a type.
        let mut types: Vec<_> = CounterType::all()
            .filter(|other| other.formula() == Some(formula))
            .map(|other| other.name())
            .collect();
        types.push(None);
        let (columns, groups) = batch(&mut numbers, &types);
        let mut averages = GroupAverages::default();
        averages.update_batch(&columns, &groups, None, GROUPS).expect("one formula");

        let mut rows = Rows::new(&columns).expect("the arguments");
        let mut expected: [Option<GroupState>; GROUPS] = [const { None }; GROUPS];
        for (row, &group) in groups.iter().enumerate() {
            if let Some((kind, numbers)) = rows.get(row).expect("known types") {
                let average = expected[group].get_or_insert_with(|| GroupState::new(kind));
                average.add(kind, &numbers).expect("one formula");
            }
        }
        let heap_bytes: usize = expected.iter().flatten().map(GroupState::heap_bytes).sum();
        assert_eq!(averages.heap_bytes, heap_bytes);
        let found = averages.state(EmitTo::All).expect("states");
        assert_eq!(&found[0], &super::encode(&expected), "{formula:?}");
    }
}

/// A filter of an aggregate is respected within runs.
#[test]
fn filtered_rows_are_left_out() {
    let mut numbers = Numbers(2);
    let (mut columns, groups) = batch(&mut numbers, &[Some("PERF_AVERAGE_TIMER")]);
    let keeps: Vec<Option<bool>> = numbers.runs(&[Some(true), Some(true), Some(false), None]);
    let mut filtered = GroupAverages::default();
    filtered
        .update_batch(&columns, &groups, Some(&BooleanArray::from(keeps.clone())), GROUPS)
        .expect("one formula");
    // The same without types in these rows.
    columns[0] =
        Arc::new(StringViewArray::from_iter(keeps.iter().map(|&keep| keep?.then_some("PERF_AVERAGE_TIMER"))));
    let mut expected = GroupAverages::default();
    expected.update_batch(&columns, &groups, None, GROUPS).expect("one formula");
    let states = |mut averages: GroupAverages| averages.state(EmitTo::All).expect("states");
    assert_eq!(states(filtered), states(expected));
}

/// Counters with different formulas have no common average, wherever a run ends.
#[test]
fn runs_of_different_formulas_are_refused() {
    let types = [Some("PERF_AVERAGE_TIMER"), Some("PERF_COUNTER_COUNTER")];
    let (columns, groups) = batch(&mut Numbers(3), &types);
    let refused =
        GroupAverages::default().update_batch(&columns, &groups, None, GROUPS).expect_err("two formulas");
    assert!(refused.to_string().contains("have no common average"), "{refused}");
    let (columns, groups) = batch(&mut Numbers(3), &[Some("PERF_NOTHING")]);
    let refused =
        GroupAverages::default().update_batch(&columns, &groups, None, GROUPS).expect_err("no type");
    assert!(refused.to_string().contains("'PERF_NOTHING' is not a counter type"), "{refused}");
}

/// Counters with different units have no common average, wherever a run or a partial state ends.
#[test]
fn different_units_are_refused() {
    let (mut columns, groups) = batch(&mut Numbers(4), &[Some("PERF_COUNTER_LARGE_RAWCOUNT")]);
    columns[7] = Arc::new(StringViewArray::from_iter_values(Numbers(5).runs(&["bytes", "KB"])));
    let refused =
        GroupAverages::default().update_batch(&columns, &groups, None, GROUPS).expect_err("two units");
    assert!(refused.to_string().contains("different units ("), "{refused}");
    let states = GroupAverages::default().convert_to_state(&columns, None).expect("states");
    let refused = GroupAverages::default().merge_batch(&states, &groups, GROUPS).expect_err("two units");
    assert!(refused.to_string().contains("different units ("), "{refused}");
}

/// Different ids have no average; equal ones do.
#[test]
fn different_identifiers_have_no_average() {
    let (mut columns, groups) = batch(&mut Numbers(6), &[Some("PERF_COUNTER_RAWCOUNT")]);
    columns[8] = Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n("ID Process", ROWS)));
    columns[2] = Arc::new(Int64Array::from_iter_values(groups.iter().map(|&group| group as i64 + 5)));
    columns[3] = Arc::new(Int64Array::from(vec![1; ROWS]));
    columns[4] = Arc::new(Float64Array::from(vec![None; ROWS]));
    let averages = |columns: &[ArrayRef], groups: &[usize]| {
        let mut averages = GroupAverages::default();
        averages.update_batch(columns, groups, None, GROUPS).expect("one unit");
        // Partial states keep the ids.
        let states = averages.state(EmitTo::All).expect("states");
        let mut merged = GroupAverages::default();
        merged.merge_batch(&states, &(0..GROUPS).collect::<Vec<_>>(), GROUPS).expect("one unit");
        merged.evaluate(EmitTo::All).expect("averages")
    };
    let expected = Float64Array::from_iter_values((0..GROUPS).map(|group| group as f64 + 5.0));
    assert_eq!(*averages(&columns, &groups), expected);
    let shifted: Vec<usize> = groups.iter().map(|group| group / 2).collect();
    let found = averages(&columns, &shifted);
    let found = found.as_any().downcast_ref::<Float64Array>().expect("doubles").iter();
    assert_eq!(found.take(4).collect::<Vec<_>>(), [None, None, None, Some(11.0)]);
}
