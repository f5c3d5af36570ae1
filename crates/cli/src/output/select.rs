//! Parts of an answer by a filter in the language of jq, so that a script needs no other program.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::Value;

/// All that the filter gives, or why it cannot be used.
pub fn select(filter: &str, value: &Value) -> Result<Vec<Value>, String> {
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File { code: filter, path: () };
    let modules = Loader::new(definitions)
        .load(&arena, program)
        .map_err(|_| format!("`{filter}` cannot be read: write it like '.[].id'"))?;
    let compiled = Compiler::default()
        .with_funs(functions)
        .compile(modules)
        .map_err(|_| format!("`{filter}` uses something that does not exist"))?;
    let input = read::parse_single(value.to_string().as_bytes())
        .map_err(|error| format!("the answer cannot be filtered: {error}"))?;
    let context = Ctx::<data::JustLut<Val>>::new(&compiled.lut, Vars::new([]));
    let mut found = Vec::new();
    for given in compiled.id.run((context, input)).map(unwrap_valr) {
        let given = given.map_err(|error| error.to_string())?;
        let read = serde_json::from_str(&given.to_string());
        found.push(read.map_err(|error| format!("`{given}` is no JSON: {error}"))?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_filter_gives_parts_and_says_what_is_wrong_with_it() {
        let tasks = json!([{ "id": "a", "risk": { "score": 7 } }, { "id": "b\u{1b}", "n": 1.5 }]);
        let select = |filter: &str| select(filter, &tasks);
        assert_eq!(select(".[].id"), Ok(vec![json!("a"), json!("b\u{1b}")]));
        assert_eq!(select("map(.risk.score) | add"), Ok(vec![json!(7)]));
        assert_eq!(select(".[1] | {n}"), Ok(vec![json!({ "n": 1.5 })]));
        assert_eq!(select("[.[] | select(.id | test(\"^a\"))] | length"), Ok(vec![json!(1)]));
        assert!(select(".[").unwrap_err().contains("cannot be read"));
        assert!(select("nothing_such").unwrap_err().contains("does not exist"));
        assert!(select(".[0].id | .x").is_err());
    }
}
