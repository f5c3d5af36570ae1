//! Filters output with a jq expression, so that scripts do not need jq itself.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::Value;

/// Returns the results of the filter, or why it is invalid.
pub fn select(filter: &str, value: &Value) -> Result<Vec<Value>, String> {
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File { code: filter, path: () };
    let modules = Loader::new(definitions)
        .load(&arena, program)
        .map_err(|_| format!("cannot parse `{filter}`; use an expression such as '.[].id'"))?;
    let compiled = Compiler::default()
        .with_funs(functions)
        .compile(modules)
        .map_err(|_| format!("`{filter}` uses an undefined function or variable"))?;
    let input = read::parse_single(value.to_string().as_bytes())
        .map_err(|error| format!("cannot filter the output: {error}"))?;
    let context = Ctx::<data::JustLut<Val>>::new(&compiled.lut, Vars::new([]));
    let mut found = Vec::new();
    for given in compiled.id.run((context, input)).map(unwrap_valr) {
        let given = given.map_err(|error| error.to_string())?;
        let read = serde_json::from_str(&given.to_string());
        found.push(read.map_err(|error| format!("`{given}` is not JSON: {error}"))?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn jq_filter_selects_parts_and_reports_its_errors() {
        let tasks = json!([{ "id": "a", "risk": { "score": 7 } }, { "id": "b\u{1b}", "n": 1.5 }]);
        let select = |filter: &str| select(filter, &tasks);
        assert_eq!(select(".[].id"), Ok(vec![json!("a"), json!("b\u{1b}")]));
        assert_eq!(select("map(.risk.score) | add"), Ok(vec![json!(7)]));
        assert_eq!(select(".[1] | {n}"), Ok(vec![json!({ "n": 1.5 })]));
        assert_eq!(select("[.[] | select(.id | test(\"^a\"))] | length"), Ok(vec![json!(1)]));
        assert!(select(".[").unwrap_err().contains("cannot parse"));
        assert!(select("nothing_such").unwrap_err().contains("undefined function"));
        assert!(select(".[0].id | .x").is_err());
    }
}
