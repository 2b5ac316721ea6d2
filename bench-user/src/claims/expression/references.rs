//! Which metrics a CEL expression names: what it needs, known before it is evaluated, so that
//! a metric that was not measured gives its reason and not an evaluation error.

use cel::common::ast::{EntryExpr, Expr, LiteralValue, operators};
use cel::{Context, IdedExpr, Value};

/// A metric as an expression names it: `b.syscalls.per_request`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    /// The variable.
    pub(super) root: String,
    /// The keys below it; never empty.
    pub(super) path: Vec<String>,
}

impl Reference {
    /// Dotted name of the metric.
    pub(super) fn metric(&self) -> String {
        self.path.join(".")
    }
}

/// Every metric that an expression names, each once.
///
/// # Errors
/// A variable without a metric, or a form whose metric is known only when it is evaluated.
pub(super) fn references(expression: &IdedExpr) -> Result<Vec<Reference>, String> {
    let mut found = Vec::new();
    visit(expression, &mut Vec::new(), &mut found)?;
    found.dedup();
    Ok(found)
}

/// `bound` holds the names that macros such as `all` bind: they are no targets.
fn visit(
    expression: &IdedExpr,
    bound: &mut Vec<String>,
    found: &mut Vec<Reference>,
) -> Result<(), String> {
    if let Some((root, path)) = chain(&expression.expr) {
        if bound.iter().any(|name| name == root) {
            return Ok(());
        }
        let root = root.to_owned();
        if path.is_empty() {
            return Err(format!(
                "`{root}` alone is no number; name a metric, as `{root}.error_ratio`"
            ));
        }
        let reference = Reference { root, path };
        if !found.contains(&reference) {
            found.push(reference);
        }
        return Ok(());
    }
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => Ok(()),
        Expr::Call(call) => {
            let target = call.target.as_deref();
            target.into_iter().chain(&call.args).try_for_each(|e| visit(e, bound, found))
        }
        Expr::Select(select) => visit(&select.operand, bound, found),
        Expr::List(list) => list.elements.iter().try_for_each(|e| visit(e, bound, found)),
        Expr::Map(map) => map.entries.iter().try_for_each(|e| entry(&e.expr, bound, found)),
        Expr::Struct(s) => s.entries.iter().try_for_each(|e| entry(&e.expr, bound, found)),
        Expr::Comprehension(c) => {
            visit(&c.iter_range, bound, found)?;
            visit(&c.accu_init, bound, found)?;
            let depth = bound.len();
            bound.extend([c.iter_var.clone(), c.accu_var.clone()]);
            bound.extend(c.iter_var2.clone());
            let inner = [&c.loop_cond, &c.loop_step, &c.result];
            let seen = inner.into_iter().try_for_each(|e| visit(e, bound, found));
            bound.truncate(depth);
            seen
        }
    }
}

fn entry(
    entry: &EntryExpr,
    bound: &mut Vec<String>,
    found: &mut Vec<Reference>,
) -> Result<(), String> {
    match entry {
        EntryExpr::StructField(field) => visit(&field.value, bound, found),
        EntryExpr::MapEntry(entry) => {
            visit(&entry.key, bound, found)?;
            visit(&entry.value, bound, found)
        }
    }
}

/// Whether its answer rests on a division by zero, whose infinity would meet any bound. As an
/// error would, it counts for nothing where the other side of `||` or `&&` decides. What a macro
/// binds has no value here, so its divisions are not looked at.
pub(super) fn divides_by_zero(expression: &IdedExpr, scope: &Context) -> bool {
    let is_in = |e: &IdedExpr| divides_by_zero(e, scope);
    let says = |e: &IdedExpr, what: bool| {
        !is_in(e) && matches!(scope.resolve(e), Ok(Value::Bool(said)) if said == what)
    };
    match &expression.expr {
        Expr::Call(call) => match (&*call.func_name, call.args.as_slice()) {
            (operators::LOGICAL_OR, args) if args.iter().any(|e| says(e, true)) => false,
            (operators::LOGICAL_AND, args) if args.iter().any(|e| says(e, false)) => false,
            (operators::CONDITIONAL, [test, yes, no]) if !is_in(test) => {
                is_in(if says(test, true) { yes } else { no })
            }
            (operators::DIVIDE | operators::MODULO, [_, divisor]) if matches!(scope.resolve(divisor), Ok(Value::Float(n)) if n == 0.0) => {
                true
            }
            (_, args) => call.target.as_deref().is_some_and(is_in) || args.iter().any(is_in),
        },
        Expr::Select(select) => is_in(&select.operand),
        Expr::List(list) => list.elements.iter().any(is_in),
        _ => false,
    }
}

/// A variable with constant keys below it: `x.y["z"]`.
fn chain(expression: &Expr) -> Option<(&str, Vec<String>)> {
    match expression {
        Expr::Ident(name) => Some((name, Vec::new())),
        Expr::Select(select) => {
            let (root, mut path) = chain(&select.operand.expr)?;
            path.push(select.field.clone());
            Some((root, path))
        }
        Expr::Call(call) if call.func_name == operators::INDEX => {
            let [operand, key] = call.args.as_slice() else { return None };
            let Expr::Literal(LiteralValue::String(key)) = &key.expr else { return None };
            let (root, mut path) = chain(&operand.expr)?;
            path.push(key.inner().to_owned());
            Some((root, path))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cel::Program;

    fn named(source: &str) -> Vec<String> {
        let program = Program::compile(source).unwrap();
        let found = references(program.expression()).unwrap();
        found.into_iter().map(|r| format!("{}:{}", r.root, r.metric())).collect()
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        assert_eq!(
            named("b.syscalls.per_request <= 0.6 * a.syscalls.per_request && !(a.error_ratio > 0)"),
            ["b:syscalls.per_request", "a:syscalls.per_request", "a:error_ratio"]
        );
        assert_eq!(named("b.perf['page-faults'].value < 5"), ["b:perf.page-faults.value"]);
        assert_eq!(named("b.x.y < 1 || b.x.y > 2"), ["b:x.y"]);
        assert_eq!(named("[a.x, b.y].all(v, v < 3.0) && 1 < 2"), ["a:x", "b:y"]);
    }

    #[test]
    fn a_variable_without_a_metric_is_refused() {
        let program = Program::compile("size(a) > 0").unwrap();
        let error = references(program.expression()).unwrap_err();
        assert!(error.contains("`a` alone"), "{error}");
    }
}
