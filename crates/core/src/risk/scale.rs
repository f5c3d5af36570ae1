//! A logarithmic scale from a count to 0–100: each doubling adds the same number of points. It uses
//! integers only, so that every machine computes the same points, with straight lines between the
//! powers of two, rounded up.

use super::Score;

/// Returns 0 for no units and 100 from 2^`doublings` − 1 units on. The result never falls as
/// `units` grow. At most 32 doublings are supported.
pub(super) fn log_scaled(units: u64, doublings: u32) -> Score {
    let full = 1_u64 << doublings;
    // One more than the units, so that zero units give the logarithm of one.
    let value = units.saturating_add(1);
    if value >= full {
        return Score::MAX;
    }
    let exponent = value.ilog2();
    let floor = 1_u64 << exponent;
    let doubled = u64::from(exponent) * floor + (value - floor);
    let points = (100 * doubled).div_ceil(floor * u64::from(doublings));
    Score::new(u8::try_from(points).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_scale_adds_equal_points_per_doubling() {
        for (units, points) in [(0, 0), (1, 10), (3, 20), (7, 30), (15, 40), (511, 90), (1023, 100)]
        {
            assert_eq!(log_scaled(units, 10).points(), points, "{units}");
        }
        for (units, points) in [(1, 13), (3, 25), (15, 50), (255, 100)] {
            assert_eq!(log_scaled(units, 8).points(), points, "{units}");
        }
    }

    #[test]
    fn log_scale_rounds_up_between_powers() {
        // 2 is half way from 1 to 3: 15. 4 is a quarter from 3 to 7: 22.5.
        for (units, points) in [(2, 15), (4, 23), (5, 25), (6, 28), (1022, 100)] {
            assert_eq!(log_scaled(units, 10).points(), points, "{units}");
        }
        assert_eq!(log_scaled(1015, 10).points(), 100);
        assert_eq!(log_scaled(970, 10).points(), 99);
    }

    #[test]
    fn log_scale_is_monotone_and_capped() {
        for doublings in [8, 10] {
            for units in 0..2_000 {
                assert!(log_scaled(units, doublings) <= log_scaled(units + 1, doublings));
            }
            assert_eq!(log_scaled(u64::MAX, doublings), Score::MAX);
        }
    }

    #[test]
    fn log_scale_stays_within_a_point_of_the_logarithm() {
        // A straight line under a logarithm is at most 0.0861 of a doubling too low.
        for units in 0_u32..1_023 {
            let exact = 10.0 * f64::from(units + 1).log2();
            let points = f64::from(log_scaled(u64::from(units), 10).points());
            assert!(points - exact < 1.0, "{units}");
            assert!(exact - points < 0.87, "{units}");
        }
    }
}
