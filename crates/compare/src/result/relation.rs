//! A difference from the choice in words.

use crate::scorer::Estimate;

/// A difference from the choice in words.
pub(crate) fn relation(found: Estimate, margin: f64) -> String {
    let Estimate { value, low, high } = found;
    if low > 0.0 {
        format!("is better by {value:.3} on the test examples")
    } else if high < 0.0 {
        format!("loses {:.3}", -value)
    } else if low >= -margin && high <= margin {
        format!("is as good within {margin}")
    } else if high <= margin && value < -margin {
        format!(
            "scored {:.3} less, and is not better by more than {margin}",
            -value
        )
    } else if high <= margin {
        format!("is not better by more than {margin}")
    } else {
        format!("may be worse or better ({low:+.3} to {high:+.3})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_described_by_its_interval() {
        for ((value, low, high), expected) in [
            (
                (0.02, 0.01, 0.03),
                "is better by 0.020 on the test examples",
            ),
            ((-0.02, -0.03, -0.01), "loses 0.020"),
            ((0.0, -0.005, 0.005), "is as good within 0.01"),
            ((-0.01, -0.03, 0.008), "is not better by more than 0.01"),
            (
                (-0.1, -0.2, 0.008),
                "scored 0.100 less, and is not better by more than 0.01",
            ),
            (
                (0.01, -0.01, 0.03),
                "may be worse or better (-0.010 to +0.030)",
            ),
        ] {
            assert_eq!(relation(Estimate { value, low, high }, 0.01), expected);
        }
    }
}
