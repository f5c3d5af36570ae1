//! SQLSTATEs with fixed descriptions. The text of an error may contain rows, and a script can raise
//! any code with any text, so only listed codes leave the preview, and no text at all.

/// The codes of scripts that fail in practice, then whole classes.
const DESCRIPTIONS: &[(&str, &str)] = &[
    ("0A000", "the feature is not supported in a preview"),
    ("21000", "a query returned more than one row"),
    ("22001", "a text is too long for its column"),
    ("22003", "a number is out of range"),
    ("22007", "a date or time is invalid"),
    ("22008", "a date or time is out of range"),
    ("22012", "division by zero"),
    ("22021", "a character is invalid in the encoding"),
    ("22023", "a parameter is invalid"),
    ("22P02", "a text is not a valid value of its type"),
    ("23502", "a NOT NULL constraint is violated"),
    ("23503", "a foreign key is violated"),
    ("23505", "a unique constraint is violated"),
    ("23514", "a CHECK constraint is violated"),
    ("23P01", "an exclusion constraint is violated"),
    ("25001", "the statement cannot run inside a transaction"),
    ("2BP01", "other objects depend on this one"),
    ("40001", "the transaction could not be serialized"),
    ("40P01", "a deadlock was detected"),
    ("42501", "the login of the preview lacks a privilege"),
    ("42601", "syntax error"),
    ("42701", "the column exists already"),
    ("42703", "the column does not exist"),
    ("42704", "the object does not exist"),
    ("42710", "the object exists already"),
    ("42723", "the function exists already"),
    ("42803", "an aggregate is used incorrectly"),
    ("42804", "two types do not match"),
    ("42830", "the foreign key is invalid"),
    ("42846", "a value cannot be cast to this type"),
    ("42883", "the function or operator does not exist"),
    ("42P01", "the table does not exist"),
    ("42P06", "the schema exists already"),
    ("42P07", "the table exists already"),
    ("42P16", "the table definition is invalid"),
    ("54001", "the statement is nested too deeply"),
    ("55000", "an object is not in the required state"),
    ("55006", "an object is in use"),
    ("55P03", "a lock was not available in time"),
    ("57014", "the statement ran too long"),
    ("P0001", "the script raised an error"),
];

const CLASSES: &[(&str, &str, &str)] = &[
    ("22", "22000", "a value is invalid"),
    ("23", "23000", "a constraint is violated"),
    ("25", "25000", "the transaction is in the wrong state"),
    ("2D", "2D000", "a script cannot end its transaction"),
    ("42", "42000", "the statement is not valid in this database"),
    ("53", "53000", "the database lacks memory, disk space or connections"),
    ("54", "54000", "the statement exceeds a limit of PostgreSQL"),
    ("55", "55000", "an object is not in the required state"),
];

/// Returns the code to show and its description. Unlisted codes become that of their class, or the
/// code of errors that a script raises.
pub fn describe(code: &str) -> (&'static str, &'static str) {
    if let Some(found) = DESCRIPTIONS.iter().find(|(listed, _)| *listed == code) {
        return *found;
    }
    let class = CLASSES.iter().find(|(class, _, _)| code.starts_with(class));
    class.map_or(("P0001", "the script raised an error"), |(_, code, text)| (*code, *text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstate_outside_the_list_is_shown_as_its_class() {
        assert_eq!(describe("23505").0, "23505");
        assert_eq!(describe("23999").0, "23000");
        for code in ["4111X", "99999", "", "é", "P0002"] {
            assert!(matches!(describe(code).0, "42000" | "P0001"), "{code}");
        }
        assert_eq!(describe("4111X").0, "P0001");
    }

    #[test]
    fn sqlstate_list_has_each_code_once() {
        let mut codes: Vec<&str> = DESCRIPTIONS.iter().map(|(code, _)| *code).collect();
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
        assert!(codes.iter().all(|code| code.len() == 5));
    }
}
