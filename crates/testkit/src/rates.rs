//! Settings of a server whose callers may call as often as they can: for those who measure it, or
//! come as one caller in place of thousands.

const RATES: [&str; 8] =
    ["TOKEN", "TENANT", "ENDPOINT", "SUBMIT", "SUBMIT_OWNER", "SUBMIT_TENANT", "OPEN", "REFUSED"];
const PER_MINUTE: &str = "60000000";
const BURST: &str = "10000000";

/// As variables of its environment.
pub fn unlimited() -> impl Iterator<Item = (String, &'static str)> {
    RATES.into_iter().flat_map(|rate| {
        [("PER_MINUTE", PER_MINUTE), ("BURST", BURST)]
            .map(|(of, number)| (format!("ADE__RATES__{rate}__{of}"), number))
    })
}
