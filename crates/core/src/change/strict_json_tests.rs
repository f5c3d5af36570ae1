//! The strict reader: what it refuses and where, and that accepted input has one meaning.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::change::Position;
use crate::limits::{JSON_DEPTH_MAX, JSON_KEY_SHOWN_CHARS};

fn parse(text: &str) -> Result<StrictValue, StrictError> {
    StrictValue::parse(text.as_bytes())
}

fn fault(text: &str) -> JsonFault {
    parse(text).expect_err(text).fault
}

fn canonical(text: &str) -> String {
    let bytes = parse(text).expect(text).canonical().unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn strict_json_refuses_duplicate_keys_at_any_depth() {
    for (text, path) in [
        (r#"{"a":1,"a":1}"#, "a"),
        (r#"{"a":1,"b":2,"\u0061":3}"#, "a"),
        (r#"{"o":{"a":1,"a":2}}"#, "o.a"),
        (r#"[0,[{"x":{"k":null,"z":1,"k":[]}}]]"#, "[1][0].x.k"),
        (r#"{"":1,"":2}"#, r#"[""]"#),
    ] {
        let refused = parse(text).unwrap_err();
        assert_eq!(refused.fault, JsonFault::DuplicateKey, "{text}");
        assert_eq!(refused.path, path, "{text}");
    }
    // The same key in two objects is two keys.
    assert!(parse(r#"[{"a":1},{"a":{"a":1}}]"#).is_ok());
    // Keys that only look alike are two keys: composed and decomposed é.
    assert!(parse("{\"\u{e9}\":1,\"e\u{301}\":2}").is_ok());
}

#[test]
fn strict_json_refuses_lone_surrogates() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
        r#"{"\ud83d":1}"#,
    ] {
        assert!(matches!(fault(text), JsonFault::Syntax { .. }), "{text}");
    }
    assert_eq!(parse(r#""\ud83d\ude00""#), parse("\"\u{1f600}\""));
    // An encoded surrogate is not valid UTF-8.
    let refused = StrictValue::parse(b"\"\xed\xa0\x80\"").unwrap_err();
    assert_eq!(refused.fault, JsonFault::NotUtf8 { offset: 1 });
}

#[test]
fn strict_json_refuses_invalid_json() {
    for text in [
        "",
        " ",
        "NaN",
        "Infinity",
        "-Infinity",
        "nan",
        "+1",
        "01",
        "-",
        ".5",
        "5.",
        "1e",
        "[0x1]",
        "'a'",
        "[1,]",
        r#"{"a":1,}"#,
        "{a:1}",
        "[1 2]",
        "// x\n1",
        "\"\n\"",
        "\"\u{1}\"",
        "tru",
        r#""\x""#,
        r#""\u12""#,
        "[",
        r#"{"a""#,
        "{1:2}",
    ] {
        assert!(matches!(fault(text), JsonFault::Syntax { .. }), "{text:?}");
    }
    let JsonFault::Syntax { reason } = fault("[1e400]") else {
        panic!("a number past every double is no JSON number here")
    };
    assert_eq!(reason, "number out of range");
}

#[test]
fn strict_json_refuses_a_leading_byte_order_mark() {
    assert_eq!(fault("\u{feff}{}"), JsonFault::ByteOrderMark);
    assert!(parse("\"\u{feff}\"").is_ok());
}

#[test]
fn strict_json_refuses_trailing_bytes() {
    for text in ["1 2", "{}{}", "[] x", "null,", "1\0"] {
        assert_eq!(fault(text), JsonFault::TrailingBytes, "{text:?}");
    }
    assert_eq!(parse(" \n\t[ ]\r\n "), parse("[]"));
    let refused = parse("[]\n  x").unwrap_err();
    assert_eq!(refused.position, Some(Position { line: 2, column: 3 }));
    assert_eq!(refused.path, "");
}

#[test]
fn strict_json_integers_are_bounded_by_two_to_the_53() {
    for text in ["9007199254740992", "-9007199254740992"] {
        assert_eq!(canonical(text), text);
    }
    for (text, number) in [
        ("9007199254740993", "9007199254740993"),
        ("-9007199254740993", "-9007199254740993"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775808", "9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e19"),
    ] {
        let number = number.to_owned();
        assert_eq!(fault(text), JsonFault::NumberTooLarge { number }, "{text}");
    }
}

#[test]
fn strict_json_refuses_large_integers_as_fractions() {
    for text in [
        "9007199254740993.0",
        "9007199254740992.0",
        "-9007199254740992.0",
        "9.007199254740993e15",
        "1e16",
        "-1e300",
    ] {
        assert!(matches!(fault(text), JsonFault::NumberTooLarge { .. }), "{text}");
    }
    assert_eq!(canonical("9007199254740991.0"), "9007199254740991");
    assert_eq!(canonical("-9007199254740991.0"), "-9007199254740991");
}

#[test]
fn strict_json_number_has_one_form() {
    for (text, form) in [
        ("1", "1"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("1E0", "1"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e9", "0"),
        ("1e3", "1000"),
        ("0.10", "0.1"),
        ("0.5", "0.5"),
        ("-2.50", "-2.5"),
        ("1e-7", "1e-7"),
        ("0.30000000000000004", "0.30000000000000004"),
    ] {
        assert_eq!(canonical(text), form, "{text}");
        assert_eq!(parse(text), parse(form), "{text}");
    }
    assert_ne!(parse("0.1"), parse("0.30000000000000004"));
    assert_ne!(parse("1"), parse("\"1\""));
}

#[test]
fn strict_json_depth_is_bounded() {
    let list = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let object = |depth: usize| format!("{}1{}", r#"{"k":"#.repeat(depth), "}".repeat(depth));
    assert!(parse(&list(JSON_DEPTH_MAX)).is_ok());
    assert!(parse(&object(JSON_DEPTH_MAX)).is_ok());
    for text in [list(JSON_DEPTH_MAX + 1), object(JSON_DEPTH_MAX + 1)] {
        assert_eq!(fault(&text), JsonFault::TooDeep);
    }
    // Far deeper than a stack could hold.
    assert_eq!(fault(&list(100_000)), JsonFault::TooDeep);
    // Depth counts open containers, not their number.
    assert!(parse(&format!("[{}1]", "[],".repeat(1_000))).is_ok());
}

#[test]
fn strict_json_size_is_bounded_inclusively() {
    let text = format!("\"{}\"", "x".repeat(PAYLOAD_MAX_BYTES - 2));
    assert!(parse(&text).is_ok());
    let bytes = PAYLOAD_MAX_BYTES + 1;
    assert_eq!(fault(&format!("{text} ")), JsonFault::TooLarge { bytes });
}

#[test]
fn strict_json_refuses_reserved_keys() {
    for key in ["$serde_json::private::Number", "$serde_json::private::RawValue"] {
        let text = format!(r#"{{"a":{{"{key}":"1"}}}}"#);
        assert_eq!(fault(&text), JsonFault::ReservedKey);
    }
    assert!(parse(r#"{"$serde_json":1}"#).is_ok());
}

#[test]
fn strict_json_error_names_the_position() {
    let text = "{\n  \"parameters\": {\n    \"env\": [1, {\"a b\": 1e99}]\n  }\n}";
    let refused = parse(text).unwrap_err();
    assert_eq!(refused.path, r#"parameters.env[1]["a b"]"#);
    assert_eq!(refused.position.unwrap().line, 3);
    assert_eq!(
        refused.to_string(),
        "parameters.env[1][\"a b\"]: 1e99 is beyond ±2^53 and would lose precision: send it as a \
         string, at line 3 column 27"
    );
    assert_eq!(
        parse("[1, tru]").unwrap_err().to_string(),
        "[1]: invalid JSON (expected ident), at line 1 column 8"
    );
    assert_eq!(StrictValue::parse(b"\xff").unwrap_err().to_string(), "invalid UTF-8 at byte 0");
}

#[test]
fn strict_json_error_path_escapes_and_cuts_hostile_keys() {
    let key = "k".repeat(JSON_KEY_SHOWN_CHARS + 1);
    let refused = parse(&format!(r#"{{"{key}":1e99}}"#)).unwrap_err();
    let shown = "k".repeat(JSON_KEY_SHOWN_CHARS);
    assert_eq!(refused.path, format!(r#"["{shown}"…]"#));
    let refused = parse(&format!(r#"{{"{shown}":1e99}}"#)).unwrap_err();
    assert_eq!(refused.path, shown);
    let refused = parse(r#"{"a.b\n\u202e":1e99}"#).unwrap_err();
    assert_eq!(refused.path, r#"["a.b\n\u{202e}"]"#);
    let refused = parse(r#"{"x":{"a_B-9":1e99}}"#).unwrap_err();
    assert_eq!(refused.path, "x.a_B-9");
}

#[test]
fn strict_json_checks_built_values_by_the_same_rules() {
    let built = json!({"b": [1, 2.0, null, true, "x"], "a": {"c": -0.5}});
    let value = StrictValue::from_json(&built).unwrap();
    assert_eq!(Ok(value), parse(&built.to_string()));

    let refused = StrictValue::from_json(&json!({"a": [u64::MAX]})).unwrap_err();
    assert!(matches!(refused.fault, JsonFault::NumberTooLarge { .. }));
    assert_eq!((refused.path.as_str(), refused.position), ("a[0]", None));
    let refused = StrictValue::from_json(&json!({"$serde_json::private::Number": "1"}));
    assert_eq!(refused.unwrap_err().fault, JsonFault::ReservedKey);

    let text = "x".repeat(PAYLOAD_MAX_BYTES - 2);
    assert!(StrictValue::from_json(&json!(text)).is_ok());
    let refused = StrictValue::from_json(&json!(format!("{text}x"))).unwrap_err();
    let bytes = PAYLOAD_MAX_BYTES + 1;
    assert_eq!(refused, StrictError::at_top(JsonFault::TooLarge { bytes }));
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: String,
    value: Option<StrictValue>,
}

#[test]
fn strict_json_reads_typed_documents_strictly() {
    let document: Document = read(br#"{"name":"x","value":{"b":1,"a":[2.0]}}"#).unwrap();
    assert_eq!(document.name, "x");
    assert_eq!(document.value, Some(parse(r#"{"a":[2],"b":1}"#).unwrap()));

    let refused = read::<Document>(br#"{"name":"x","value":{"b":1,"b":1}}"#).unwrap_err();
    assert_eq!(refused.fault, JsonFault::DuplicateKey);
    assert_eq!(refused.path, "value.b");

    let refused = read::<Document>(b"{\n\"nam\":1}").unwrap_err();
    let JsonFault::Shape { reason } = &refused.fault else { panic!("{refused}") };
    assert_eq!(reason, "unknown field `nam`, expected `name` or `value`");
    assert_eq!(refused.position, Some(Position { line: 2, column: 5 }));
}

#[test]
fn strict_json_checks_nested_values_of_other_readers() {
    let inside = |text: &str| serde_json::from_str::<Vec<StrictValue>>(text);
    assert_eq!(inside("[1.0]").unwrap(), [parse("1").unwrap()]);
    let refused = inside(r#"[{"a":{"b":1,"b":2}}]"#).unwrap_err().to_string();
    assert!(refused.starts_with("a.b: duplicate key in an object"), "{refused}");
    let refused = inside("[{]").unwrap_err().to_string();
    assert_eq!(refused, "key must be a string at line 1 column 3");
}

/// Formats that can express more than JSON.
#[test]
fn strict_json_refuses_values_json_cannot_express() {
    use serde::de::IntoDeserializer;
    use serde::de::value::{BytesDeserializer, Error};
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let number: serde::de::value::F64Deserializer<Error> = number.into_deserializer();
        let refused = StrictValue::deserialize(number).unwrap_err().to_string();
        assert!(refused.contains("is beyond"), "{refused}");
    }
    let bytes = BytesDeserializer::<Error>::new(b"x");
    let refused = StrictValue::deserialize(bytes).unwrap_err().to_string();
    assert_eq!(refused, "invalid type: byte array, expected a JSON value");
}

#[test]
fn strict_json_value_prints_as_plain_json() {
    let value = parse(r#"{"n":null,"b":true,"i":5.0,"f":1.5,"t":"é\"","l":[1,{}]}"#).unwrap();
    assert_eq!(
        serde_json::to_value(&value).unwrap(),
        json!({"n": null, "b": true, "i": 5, "f": 1.5, "t": "é\"", "l": [1, {}]})
    );
}

/// A value of the tests, spelled in many ways and compared without the reader.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Null,
    Bool(bool),
    /// A multiple of one half, so that whole numbers and fractions mix.
    Halves(i32),
    Text(String),
    List(Vec<Tree>),
    /// An object with sorted, unique keys.
    Object(Vec<(String, Tree)>),
}

fn key() -> impl Strategy<Value = String> {
    // Control, quote, two-byte, private use above the surrogates, and beyond the first plane.
    prop::string::string_regex("[ab\"\\\\\n\u{e9}\u{e000}\u{fb33}\u{1f600}]{0,2}").unwrap()
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        (-3..=3_i32).prop_map(Tree::Halves),
        key().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Tree::List),
            prop::collection::btree_map(key(), inner, 0..3)
                .prop_map(|members| Tree::Object(members.into_iter().collect())),
        ]
    })
}

/// Spells a tree; every bit of `dice` decides one choice that JSON leaves open.
fn spell(tree: &Tree, dice: &mut u64) -> String {
    let mut flip = || {
        *dice = dice.rotate_left(1) ^ 0x9e37_79b9;
        *dice & 1 == 1
    };
    let blank = if flip() { " \n" } else { "" };
    let text = match tree {
        Tree::Null => "null".to_owned(),
        Tree::Bool(value) => value.to_string(),
        Tree::Halves(halves) if halves % 2 == 0 => match (flip(), flip()) {
            (true, true) => format!("{}", halves / 2),
            (true, false) => format!("{}.0", halves / 2),
            (false, true) => format!("{}e-1", halves * 5),
            (false, false) => format!("{}E+0", halves / 2),
        },
        Tree::Halves(halves) if flip() => format!("{}e-1", halves * 5),
        Tree::Halves(halves) => format!("{:.2}", f64::from(*halves) / 2.0),
        Tree::Text(text) => spell_text(text, flip()),
        Tree::List(items) => {
            let items: Vec<_> = items.iter().map(|item| spell(item, dice)).collect();
            format!("[{blank}{}]", items.join(","))
        }
        Tree::Object(members) => {
            let escaped = flip();
            let backwards = flip();
            let mut members: Vec<_> = members
                .iter()
                .map(|(key, value)| {
                    format!("{}{blank}:{}", spell_text(key, escaped), spell(value, dice))
                })
                .collect();
            if backwards {
                members.reverse();
            }
            format!("{{{}{blank}}}", members.join(","))
        }
    };
    format!("{blank}{text}{blank}")
}

fn spell_text(text: &str, escaped: bool) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("\"");
    for unit in text.encode_utf16() {
        if escaped {
            write!(out, "\\u{unit:04X}").unwrap();
        }
    }
    for letter in text.chars().filter(|_| !escaped) {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn strict_json_never_panics_on_arbitrary_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let _ = StrictValue::parse(&bytes);
        let _ = read::<Document>(&bytes);
    }

    /// Bytes that look like JSON get further into the reader than random bytes.
    #[test]
    fn strict_json_round_trips_any_accepted_input(
        text in r#"[\[\]{}",:0-9eE.+\-\\ua-f n]{0,24}"#
    ) {
        if let Ok(value) = parse(&text) {
            let bytes = value.canonical().unwrap();
            prop_assert_eq!(StrictValue::parse(&bytes), Ok(value));
        }
    }

    #[test]
    fn strict_json_accepts_every_spelling_of_a_value(tree in tree(), one: u64, other: u64) {
        let (one, other) = (spell(&tree, &mut { one }), spell(&tree, &mut { other }));
        let (one, other) = (parse(&one).unwrap(), parse(&other).unwrap());
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.canonical(), other.canonical());
    }

    /// T5: the bytes are equal exactly if the values are.
    #[test]
    fn canonical_bytes_are_equal_iff_values_are(
        a in tree(), b in tree(), one: u64, other: u64
    ) {
        let left = parse(&spell(&a, &mut { one })).unwrap();
        let right = parse(&spell(&b, &mut { other })).unwrap();
        prop_assert_eq!(a == b, left.canonical() == right.canonical());
        prop_assert_eq!(a == b, left == right);
    }

    #[test]
    fn canonical_json_round_trips(tree in tree(), dice: u64) {
        let value = parse(&spell(&tree, &mut { dice })).unwrap();
        let bytes = value.canonical().unwrap();
        let again = StrictValue::parse(&bytes).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.canonical().unwrap(), bytes);
    }

    /// The reader and serde_json agree on every number the reader accepts, to the last bit.
    #[test]
    fn strict_json_numbers_keep_every_bit(number in -9.0e15..9.0e15_f64) {
        let text = serde_json::to_string(&number).unwrap();
        let value = parse(&text).unwrap();
        let bytes = value.canonical().unwrap();
        let back: f64 = String::from_utf8(bytes).unwrap().parse().unwrap();
        prop_assert_eq!(back.to_bits(), (number + 0.0).to_bits());
    }

    #[test]
    fn strict_json_integer_in_range_keeps_its_value(
        number in -(1_i64 << 53)..=1_i64 << 53
    ) {
        prop_assert_eq!(canonical(&number.to_string()), number.to_string());
    }

    #[test]
    fn strict_json_integer_out_of_range_is_refused(number in (1_i64 << 53) + 1..) {
        for text in [number.to_string(), format!("-{number}")] {
            let expected = JsonFault::NumberTooLarge { number: text.clone() };
            prop_assert_eq!(fault(&text), expected);
        }
    }
}

#[test]
fn strict_json_for_unhashed_documents_differs_only_in_size() {
    let long = format!("{:?}", "x".repeat(PAYLOAD_MAX_BYTES));
    assert_eq!(check(long.as_bytes()), Ok(()));
    assert!(StrictValue::parse(long.as_bytes()).is_err());
    for refused in ["{\"a\":1,\"a\":2}", "[1] 2", "\u{feff}{}", "9007199254740993", ""] {
        assert_eq!(check(refused.as_bytes()), StrictValue::parse(refused.as_bytes()).map(|_| ()));
        assert!(check(refused.as_bytes()).is_err(), "{refused}");
    }
}
