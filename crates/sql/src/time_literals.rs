//! Times without seconds in a query.
//!
//! DataFusion's parser of times requires seconds. A text such as `'2026-11-27 00:43'` gets seconds where it is compared with a
//! time or cast to one, and only there.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable as _, LogicalPlan, Operator, TryCast};

/// Adds seconds to the times of a plan that lack them.
pub(crate) fn complete_times(plan: LogicalPlan) -> Result<LogicalPlan> {
    let complete = |node: LogicalPlan| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let completed = expr.transform_up(|expr| Ok(complete_expr(expr, &schema)))?;
            Ok(completed.update_data(|expr| name.restore(expr)))
        })
    };
    Ok(plan.transform_up_with_subqueries(complete)?.data)
}

fn complete_expr(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_time = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Timestamp(..)));
    let has_changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            (is_time(left) && complete_literal(right)) || (is_time(right) && complete_literal(left))
        }
        Expr::Between(Between { expr, low, high, .. }) if is_time(expr) => {
            complete_literal(low) | complete_literal(high)
        }
        Expr::InList(InList { expr, list, .. }) if is_time(expr) => {
            list.iter_mut().fold(false, |changed, literal| complete_literal(literal) | changed)
        }
        Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })
            if matches!(field.data_type(), DataType::Timestamp(..)) =>
        {
            complete_literal(expr)
        }
        _ => false,
    };
    Transformed::new_transformed(expr, has_changed)
}

fn is_comparison(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Adds seconds to a literal. Returns whether it lacked them.
fn complete_literal(expr: &mut Expr) -> bool {
    let Expr::Literal(
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)),
        _,
    ) = expr
    else {
        return false;
    };
    match with_seconds(text) {
        Some(complete) => {
            *text = complete;
            true
        }
        None => false,
    }
}

/// Adds seconds to a time such as `2026-11-27 00:43` or `2026-11-27T00:43+01:00`; `None` for other texts.
fn with_seconds(text: &str) -> Option<String> {
    const FORM: &[u8; 16] = b"0000-00-00 00:00";
    let (start, rest) = text.split_at_checked(FORM.len())?;
    let has_form = start.bytes().zip(FORM).all(|(byte, expected)| match expected {
        b'0' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T' | b't'),
        _ => byte == *expected,
    });
    // After the minutes, only a zone can follow.
    let is_zone = !rest.starts_with([':', '.']) && !rest.starts_with(|next: char| next.is_ascii_digit());
    (has_form && is_zone).then(|| format!("{start}:00{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_without_seconds_are_completed() {
        for (text, expected) in [
            ("2026-11-27 00:43", Some("2026-11-27 00:43:00")),
            ("2026-11-27T00:43Z", Some("2026-11-27T00:43:00Z")),
            ("2026-11-27T00:43+01:00", Some("2026-11-27T00:43:00+01:00")),
            ("2026-11-27 00:43 Europe/Berlin", Some("2026-11-27 00:43:00 Europe/Berlin")),
            ("2026-11-27 00:43:00", None),
            ("2026-11-27 00:430", None),
            ("2026-11-27", None),
            ("2026-11-27 0:43", None),
            ("2026-11-27 00.43", None),
            ("2026-11-27 00:4\u{e9}", None),
            ("", None),
        ] {
            assert_eq!(with_seconds(text).as_deref(), expected, "{text}");
        }
    }
}
