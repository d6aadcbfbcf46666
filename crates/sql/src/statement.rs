//! Rewrites `average(*)` in a query.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    Select, SelectItem, VisitMut as _, VisitorMut,
};

use crate::average::{ARGUMENTS, AVERAGE};

/// Replaces the `*` in `average(*)` and `average(t.*)` by the columns that the function needs, and names the result
/// column `average`. Returns whether there was one.
pub(crate) fn expand_averages(statement: &mut Statement) -> bool {
    match statement {
        Statement::Statement(statement) => {
            let mut expansion = Expansion { has_expanded: false };
            // The visitor never breaks.
            let _ = statement.visit(&mut expansion);
            expansion.has_expanded
        }
        Statement::Explain(explain) => expand_averages(&mut explain.statement),
        _ => false,
    }
}

struct Expansion {
    has_expanded: bool,
}

impl VisitorMut for Expansion {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
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

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
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
    let [part] = function.name.0.as_slice() else { return false };
    part.as_ident().is_some_and(|name| name.value.eq_ignore_ascii_case(AVERAGE))
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
