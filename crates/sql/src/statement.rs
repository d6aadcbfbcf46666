//! Rewrites `average(*)` and `date_trunc` with a time zone in a query, and checks what the planner does not.

use std::ops::ControlFlow;

use datafusion::arrow::array::timezone::Tz;
use datafusion::common::{DataFusionError, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    Select, SelectItem, Value, VisitMut as _, VisitorMut,
};

use crate::average::{ARGUMENTS, AVERAGE};

/// Rewrites a query:
///
/// - Replaces the `*` in `average(*)` and `average(t.*)` by the columns that the function needs, and names the result column
///   `average`.
/// - Replaces `date_trunc('hour', time, 'ZONE')` by `date_trunc('hour', time AT TIME ZONE 'ZONE')`, as PostgreSQL computes it.
///
/// Returns whether there was an average.
///
/// # Errors
///
/// When the argument of another function than `average` and `count` is `*`, or a time zone is unknown.
pub(crate) fn rewrite(statement: &mut Statement) -> Result<bool> {
    match statement {
        Statement::Statement(statement) => {
            let mut expansion = Expansion { has_expanded: false };
            match statement.visit(&mut expansion) {
                ControlFlow::Continue(()) => Ok(expansion.has_expanded),
                ControlFlow::Break(message) => Err(DataFusionError::Plan(message)),
            }
        }
        Statement::Explain(explain) => rewrite(&mut explain.statement),
        _ => Ok(false),
    }
}

struct Expansion {
    has_expanded: bool,
}

impl VisitorMut for Expansion {
    /// The message of an error.
    type Break = String;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr @ Expr::Function(_)) = item
                && let Expr::Function(function) = &*expr
                && is_average(function)
            {
                let (expr, alias) = (expr.clone(), Ident::new(AVERAGE));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        if let Expr::Function(function) = expr {
            with_zone(function)?;
            check_wildcard(function)?;
        }
        if let Expr::AtTimeZone { time_zone, .. } = expr {
            check_zone(time_zone)?;
        }
        if let Expr::Function(function) = expr
            && is_average(function)
            && let Some(table) = table_of(&function.args)
        {
            let argument = |&name: &&str| {
                let name = Ident::with_quote('"', name);
                let expr = match &table {
                    None => Expr::Identifier(name),
                    Some(table) => {
                        let parts = table.0.iter().filter_map(|part| part.as_ident().cloned());
                        Expr::CompoundIdentifier(parts.chain([name]).collect())
                    }
                };
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
            };
            self.has_expanded = true;
            function.args = FunctionArguments::List(FunctionArgumentList {
                duplicate_treatment: None,
                args: ARGUMENTS.iter().map(argument).collect(),
                clauses: Vec::new(),
            });
        }
        ControlFlow::Continue(())
    }
}

fn is_average(function: &Function) -> bool {
    has_name(function, AVERAGE)
}

fn has_name(function: &Function, expected: &str) -> bool {
    let [part] = function.name.0.as_slice() else { return false };
    part.as_ident().is_some_and(|name| name.value.eq_ignore_ascii_case(expected))
}

/// Moves the time zone, the third argument of `date_trunc`, to the second argument.
fn with_zone(function: &mut Function) -> ControlFlow<String> {
    use FunctionArg::Unnamed;
    use FunctionArgExpr::Expr as Argument;
    if has_name(function, "date_trunc")
        && let FunctionArguments::List(list) = &mut function.args
        && let [_, Unnamed(Argument(time)), Unnamed(Argument(zone))] = list.args.as_mut_slice()
    {
        check_zone(zone)?;
        *time = Expr::AtTimeZone {
            timestamp: Box::new(Expr::Nested(Box::new(time.clone()))),
            time_zone: Box::new(zone.clone()),
        };
        list.args.pop();
    }
    ControlFlow::Continue(())
}

/// Checks that only `average` and `count` have the argument `*`. The planner's messages do not name the function.
fn check_wildcard(function: &Function) -> ControlFlow<String> {
    let FunctionArguments::List(list) = &function.args else { return ControlFlow::Continue(()) };
    let is_wildcard = |argument: &FunctionArg| {
        matches!(
            argument,
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard | FunctionArgExpr::QualifiedWildcard(_))
        )
    };
    match list.args.iter().any(is_wildcard) && !is_average(function) && !has_name(function, "count") {
        true => ControlFlow::Break(format!(
            "{0}(*): write {AVERAGE}(*) for the average of rows of samples, or {0}(COLUMN) for a column",
            function.name
        )),
        false => ControlFlow::Continue(()),
    }
}

/// Checks a time zone. The planner does not check its name, and some functions treat unknown zones as UTC.
fn check_zone(zone: &Expr) -> ControlFlow<String> {
    let name = match zone {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(name) => Some(name),
            _ => None,
        },
        _ => None,
    };
    match name {
        Some(name) if name.parse::<Tz>().is_ok() => ControlFlow::Continue(()),
        Some(name) => ControlFlow::Break(format!(
            "there is no time zone '{name}': write a name such as 'Europe/Berlin', or an offset such as '+05:30'"
        )),
        None => ControlFlow::Break(format!("{zone}: a time zone must be a text, such as 'Europe/Berlin'")),
    }
}

/// The table of `average(t.*)`, or `Some(None)` for `average(*)`; `None` for other arguments.
fn table_of(arguments: &FunctionArguments) -> Option<Option<ObjectName>> {
    let FunctionArguments::List(list) = arguments else { return None };
    match list.args.as_slice() {
        [] => Some(None),
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Some(None),
        [FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table))] => Some(Some(table.clone())),
        _ => None,
    }
}
