//! Settings without rate limits, for tests that measure the server or send the calls of thousands
//! of callers as one.

const RATES: [&str; 11] = [
    "TOKEN",
    "TENANT",
    "ENDPOINT",
    "ENDPOINTS__TASKS_CREATE",
    "ENDPOINTS__TASKS_AMEND",
    "ENDPOINTS__TASKS_EVALUATE",
    "SUBMIT",
    "SUBMIT_OWNER",
    "SUBMIT_TENANT",
    "OPEN",
    "REFUSED",
];
const PER_MINUTE: &str = "60000000";
const BURST: &str = "10000000";

/// Returns the settings as environment variables.
pub fn unlimited() -> impl Iterator<Item = (String, &'static str)> {
    RATES.into_iter().flat_map(|rate| {
        [("PER_MINUTE", PER_MINUTE), ("BURST", BURST)]
            .map(|(of, number)| (format!("ADE__RATES__{rate}__{of}"), number))
    })
}
