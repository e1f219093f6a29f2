//! The budget: one monotonic clock from the start of the program to the written page.

use std::time::{Duration, Instant};

/// A time budget, and the part of it that is spent.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    budget: Duration,
}

impl Clock {
    /// One that has been running since `start`.
    pub fn new(start: Instant, budget: Duration) -> Self {
        Self { start, budget }
    }

    /// Seconds of the budget.
    pub fn budget(&self) -> f64 {
        self.budget.as_secs_f64()
    }

    /// Seconds since the start.
    pub fn spent(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Seconds that are left of this share of the budget; 0 when it is used up.
    pub fn left_of(&self, share: f64) -> f64 {
        (self.budget() * share - self.spent()).max(0.0)
    }

    /// The time at which this share of the budget is used up.
    pub fn end_of(&self, share: f64) -> Instant {
        self.start + self.budget.mul_f64(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_whole_budget_and_never_negative() {
        let start = Instant::now() - Duration::from_secs(30);
        let clock = Clock::new(start, Duration::from_secs(100));
        assert!((clock.left_of(0.5) - 20.0).abs() < 1.0);
        assert_eq!(clock.left_of(0.1), 0.0);
        assert_eq!(clock.end_of(0.25), start + Duration::from_secs(25));
    }
}
