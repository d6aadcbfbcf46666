//! `date_trunc` for times in UTC.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, FieldRef, TimestampMicrosecondType};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use crate::batches::time_type;

/// The times, in microseconds since 1970, from the negative to the positive of which the result does not depend on whether there
/// is a zone: half of what DataFusion's nanoseconds can express, 146 years.
const MAX_MICROSECONDS: u64 = i64::MAX as u64 / 2000;

/// DataFusion's function `date_trunc`, but fast for the column `time`. For a time with a zone, DataFusion converts each row
/// to a civil time of the zone. UTC has no offsets, so the result is that for a time without a zone.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DateTrunc {
    function: Arc<ScalarUDF>,
}

/// The function, to be registered instead of DataFusion's.
pub(crate) fn date_trunc() -> ScalarUDF {
    ScalarUDF::from(DateTrunc { function: datafusion::functions::datetime::date_trunc() })
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn aliases(&self) -> &[String] {
        self.function.aliases()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.function.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.function.return_field_from_args(args)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(times) = args.args.get(1).and_then(times_in_utc) else {
            return self.function.invoke_with_args(args);
        };
        let without_zone = times.with_timezone_opt(None::<Arc<str>>);
        args.args[1] = ColumnarValue::Array(Arc::new(without_zone));
        // `ScalarUDF` would check the result's type against that of the arguments before the change.
        let ColumnarValue::Array(truncated) = self.function.inner().invoke_with_args(args)? else {
            return internal_err!("date_trunc: an array has a single result");
        };
        let truncated = truncated.as_primitive::<TimestampMicrosecondType>().clone();
        let in_utc: ArrayRef = Arc::new(truncated.with_data_type(time_type()));
        Ok(ColumnarValue::Array(in_utc))
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.function.output_ordering(input)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.function.documentation()
    }
}

/// The times of an array with the type of the column `time`, if all are at most [`MAX_MICROSECONDS`].
fn times_in_utc(value: &ColumnarValue) -> Option<PrimitiveArray<TimestampMicrosecondType>> {
    let ColumnarValue::Array(array) = value else { return None };
    if *array.data_type() != time_type() {
        return None;
    }
    let times: &PrimitiveArray<TimestampMicrosecondType> = array.as_primitive_opt()?;
    // Without a branch per row.
    let exceeds = |found: bool, time: &i64| found | (time.unsigned_abs() > MAX_MICROSECONDS);
    (!times.values().iter().fold(false, exceeds)).then(|| times.clone())
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{
        Date32Array, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
        TimestampSecondArray,
    };
    use datafusion::arrow::datatypes::Field;
    use datafusion::common::config::ConfigOptions;
    use datafusion::common::{DataFusionError, ScalarValue};

    use super::*;

    const GRANULARITIES: [&str; 11] = [
        "year",
        "quarter",
        "month",
        "week",
        "day",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
        "HOUR",
    ];

    fn truncate(function: &ScalarUDF, granularity: ScalarValue, times: &ColumnarValue) -> Result<ArrayRef> {
        let field = |name: &str, data_type: DataType| Arc::new(Field::new(name, data_type, true));
        let arg_fields =
            vec![field("granularity", granularity.data_type()), field("time", times.data_type())];
        let return_field = function.return_field_from_args(ReturnFieldArgs {
            arg_fields: &arg_fields,
            scalar_arguments: &[Some(&granularity), None],
        })?;
        let args = ScalarFunctionArgs {
            args: vec![ColumnarValue::Scalar(granularity), times.clone()],
            arg_fields,
            number_rows: 1,
            return_field,
            config_options: Arc::new(ConfigOptions::default()),
        };
        function.invoke_with_args(args)?.into_array(1)
    }

    /// Asserts that the function returns the same values and the same error as DataFusion's, with the same type.
    fn assert_same(granularity: &ScalarValue, times: &ColumnarValue) {
        let known = datafusion::functions::datetime::date_trunc();
        let expected = truncate(&known, granularity.clone(), times);
        let found = truncate(&date_trunc(), granularity.clone(), times);
        let text = |error: DataFusionError| error.strip_backtrace();
        assert_eq!(found.map_err(text), expected.map_err(text), "{granularity} of {}", times.data_type());
    }

    fn micros(times: Vec<Option<i64>>, zone: Option<&str>) -> ColumnarValue {
        ColumnarValue::Array(Arc::new(TimestampMicrosecondArray::from(times).with_timezone_opt(zone)))
    }

    #[test]
    fn times_are_truncated_as_by_datafusion() {
        let (known, ours) = (datafusion::functions::datetime::date_trunc(), date_trunc());
        assert_eq!((ours.name(), ours.aliases()), (known.name(), known.aliases()));
        // Every 50 days and some hours from 1830 to 2077, a leap day, before 1970, and no time.
        let mut times: Vec<Option<i64>> = (0..1800)
            .map(|step| Some(-4_417_977_600_000_000 + step * (4_320_000_000_000 + 12_345_678_901)))
            .collect();
        times.extend([Some(0), Some(-1), Some(951_825_599_999_999), None]);
        let in_utc = micros(times, Some("UTC"));
        assert!(times_in_utc(&in_utc).is_some());
        let ColumnarValue::Array(array) = &in_utc else { panic!("an array") };
        let part = ColumnarValue::Array(array.slice(1500, 303));
        for granularity in GRANULARITIES {
            assert_same(&granularity.into(), &in_utc);
            assert_same(&granularity.into(), &part);
        }
    }

    #[test]
    fn hours_and_weeks_are_those_of_the_calendar() {
        // 2026-03-29T10:59:59.999999Z, a Sunday, and 1969-12-31T23:59:59.999999Z, a Wednesday.
        let times = micros(vec![Some(1_774_781_999_999_999), Some(-1), None], Some("UTC"));
        for (granularity, expected) in [
            ("hour", [Some(1_774_778_400_000_000), Some(-3_600_000_000), None]),
            ("week", [Some(1_774_224_000_000_000), Some(-259_200_000_000), None]),
            ("year", [Some(1_767_225_600_000_000), Some(-31_536_000_000_000), None]),
        ] {
            let found = truncate(&date_trunc(), granularity.into(), &times).expect("truncated");
            assert_eq!(found.data_type(), &time_type());
            let found: Vec<_> = found.as_primitive::<TimestampMicrosecondType>().iter().collect();
            assert_eq!(found, expected, "{granularity}");
        }
    }

    #[test]
    fn other_arguments_are_left_to_datafusion() {
        let time = 1_774_747_000_123_456;
        let single = ScalarValue::TimestampMicrosecond(Some(time), Some("UTC".into()));
        let arguments = [
            micros(vec![Some(time)], Some("Europe/Berlin")),
            micros(vec![Some(time)], Some("+05:30")),
            micros(vec![Some(time), None], None),
            ColumnarValue::Scalar(single),
            ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(None, Some("UTC".into()))),
            ColumnarValue::Scalar(ScalarValue::Null),
            ColumnarValue::Array(Arc::new(
                TimestampSecondArray::from(vec![time / 1_000_000]).with_timezone("UTC"),
            )),
            ColumnarValue::Array(Arc::new(
                TimestampNanosecondArray::from(vec![time * 1000]).with_timezone("UTC"),
            )),
            ColumnarValue::Array(Arc::new(Time64MicrosecondArray::from(vec![7_261_000_001]))),
            ColumnarValue::Array(Arc::new(Date32Array::from(vec![20_000]))),
        ];
        for times in &arguments {
            for granularity in GRANULARITIES {
                assert_same(&granularity.into(), times);
            }
        }
    }

    #[test]
    fn errors_are_those_of_datafusion() {
        let times = micros(vec![Some(0)], Some("UTC"));
        for granularity in [ScalarValue::from("fortnight"), ScalarValue::Utf8(None), ScalarValue::from(1_i64)]
        {
            assert!(truncate(&date_trunc(), granularity.clone(), &times).is_err());
            assert_same(&granularity, &times);
        }
        // Times that nanoseconds cannot express, and those that can just be expressed.
        let most = i64::MAX / 1000;
        for time in [most, -most, most + 1, -most - 2, i64::MAX] {
            let times = micros(vec![Some(0), Some(time)], Some("UTC"));
            GRANULARITIES.iter().for_each(|&granularity| assert_same(&granularity.into(), &times));
        }
        assert!(truncate(&date_trunc(), "day".into(), &micros(vec![Some(i64::MAX)], Some("UTC"))).is_err());
    }
}
