//! Error messages of the JSON parser in the words of JSON. The parser names the types of this
//! program, which mean nothing to a caller.

/// Returns the message without names of Rust types. Texts of the caller stay as they are where the
/// message quotes them before the expectation.
pub fn in_plain_words(message: &str) -> String {
    let message = without_untagged(message).replacen("unknown variant `", "unknown value `", 1);
    let Some((found, rest)) = message.rsplit_once(", expected ") else { return message };
    let (expected, place) = match rest.rfind(" at line ") {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let found = match found.rsplit_once("invalid type: ") {
        Some((before, found)) => format!("{before}invalid type: {}", kind(found)),
        None => found.to_owned(),
    };
    format!("{found}, expected {}{place}", wanted(expected))
}

/// Replaces the message for a value that has none of several forms.
fn without_untagged(message: &str) -> String {
    const UNTAGGED: &str = "data did not match any variant of untagged enum ";
    let Some((before, after)) = message.split_once(UNTAGGED) else { return message.to_owned() };
    let place = after.find(' ').map_or("", |at| after.get(at..).unwrap_or_default());
    format!("{before}the value has none of the accepted forms{place}")
}

/// Names the kind of a value that was found.
fn kind(found: &str) -> &str {
    match found {
        "map" => "object",
        "sequence" => "array",
        "unit value" => "null",
        "unit variant" | "newtype variant" | "tuple variant" | "struct variant" => "string",
        "newtype struct" | "Option value" | "enum" => "value",
        other => other,
    }
}

/// Names what is expected.
fn wanted(expected: &str) -> &str {
    let is_any = |words: &[&str]| words.iter().any(|word| expected.contains(word));
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a map" => "an object",
        "a sequence" => "an array",
        "string or map" => "a string or an object",
        "unit" => "null",
        _ if is_any(&["identifier", "variant"]) => "a string",
        _ if is_any(&["tagged enum "]) => "an object",
        _ if expected.starts_with("enum ") => "a string",
        _ if expected.starts_with("struct ") => "an object",
        _ if is_any(&["a tuple", "tuple struct "]) => "an array",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_messages_are_written_without_rust_types() {
        for (message, plain) in [
            (
                "invalid type: string \"x\", expected struct TouchedResource",
                "invalid type: string \"x\", expected an object",
            ),
            (
                "invalid type: map, expected a sequence at line 1 column 13",
                "invalid type: object, expected an array at line 1 column 13",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "invalid value: integer `-1`, expected a whole number from 0",
            ),
            ("unknown variant `x`, expected `a` or `b`", "unknown value `x`, expected `a` or `b`"),
            (
                "Failed to deserialize query string: until: unknown variant `x`, expected `ended`",
                "Failed to deserialize query string: until: unknown value `x`, expected `ended`",
            ),
            (
                "data did not match any variant of untagged enum Wanted at line 1 column 2",
                "the value has none of the accepted forms at line 1 column 2",
            ),
            (
                "data did not match any variant of untagged enum Wanted",
                "the value has none of the accepted forms",
            ),
            ("missing field `title`", "missing field `title`"),
            ("invalid type: null, expected a string", "invalid type: null, expected a string"),
        ] {
            assert_eq!(in_plain_words(message), plain);
        }
    }
}
