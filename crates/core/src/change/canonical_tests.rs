//! The vectors of RFC 8785, and the order of keys compared with an oracle.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::StrictValue;
use super::*;

fn text_of(value: &impl Serialize) -> String {
    String::from_utf8(to_bytes(value).unwrap()).unwrap()
}

/// Appendix B: the bits of a double and how it is written.
#[test]
fn canonical_json_numbers_follow_the_rfc() {
    for (bits, written) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(text_of(&f64::from_bits(bits)), written, "{bits:x}");
    }
}

#[test]
fn canonical_json_refuses_nan_and_infinity() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = to_bytes(&number).unwrap_err().to_string();
        assert!(refused.contains("not permitted in JSON"), "{refused}");
    }
}

/// Section 3.2.3: by UTF-16 units, where an emoji (surrogates) comes before U+FB33.
#[test]
fn canonical_json_sorts_keys_by_utf16_units() {
    let text = r#"{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let value = StrictValue::parse(text.as_bytes()).unwrap();
    let written = String::from_utf8(value.canonical().unwrap()).unwrap();
    let order: Vec<_> = [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]
    .iter()
    .map(|name| written.find(name).unwrap())
    .collect();
    assert!(order.is_sorted(), "{written}");
}

/// Section 3.2.2: literals, escapes and numbers in one document.
#[test]
fn canonical_json_of_the_rfc_example_has_its_bytes() {
    let text = r#"{
        "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let value = StrictValue::parse(text.as_bytes()).unwrap();
    assert_eq!(
        String::from_utf8(value.canonical().unwrap()).unwrap(),
        concat!(
            r#"{"literals":[null,true,false],"#,
            r#""numbers":[333333333.3333333,4.5,0.002,1e-27],"#,
            r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
        )
    );
}

proptest! {
    #[test]
    fn canonical_json_orders_any_two_keys_by_utf16(
        keys in prop::collection::btree_set(".{0,4}", 2..6),
    ) {
        let members: BTreeMap<&String, u8> = keys.iter().map(|key| (key, 0)).collect();
        let mut expected: Vec<&String> = keys.iter().collect();
        expected.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
        let expected: Vec<String> = expected
            .iter()
            .map(|key| format!("{}:0", text_of(key)))
            .collect();
        prop_assert_eq!(text_of(&members), format!("{{{}}}", expected.join(",")));
    }
}
