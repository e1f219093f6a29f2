//! The line search of Moré and Thuente (ACM TOMS 20, 1994), which L-BFGS-B uses.
//!
//! It looks for a step that satisfies the strong Wolfe conditions along a direction, keeping an interval that
//! holds one and choosing the next trial by cubic and quadratic interpolation. The tolerances are those of
//! L-BFGS-B 3.0 (Byrd, Lu, Nocedal, Zhu), so that the steps taken are those scipy takes.

/// Share of the decrease predicted by the slope at the start that a step must reach at least.
const DECREASE: f64 = 1e-3;
/// Share of the slope at the start that a step must flatten the slope to.
const CURVATURE: f64 = 0.9;
/// An interval relatively narrower than this is not divided further.
const NARROW: f64 = 0.1;

/// Value and slope at one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub step: f64,
    pub value: f64,
    pub slope: f64,
}

/// Action after a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Try this step.
    Try(f64),
    /// Take the step just tried.
    Accept,
}

/// State of a search.
#[derive(Debug)]
pub(super) struct LineSearch {
    start: Point,
    largest: f64,
    /// The end with the lowest value so far, and the other end.
    best: Point,
    other: Point,
    bracketed: bool,
    /// True in the first stage, in which the search works on the function minus the required decrease.
    first_stage: bool,
    /// Bounds for the next trial.
    low: f64,
    high: f64,
    width: f64,
    width_before: f64,
}

impl LineSearch {
    /// A search from step 0, where the function has `value` and `slope` < 0; `first` is the first step to try.
    pub fn new(value: f64, slope: f64, first: f64, largest: f64) -> Self {
        let start = Point {
            step: 0.0,
            value,
            slope,
        };
        Self {
            start,
            largest,
            best: start,
            other: start,
            bracketed: false,
            first_stage: true,
            low: 0.0,
            high: 5.0 * first,
            width: largest,
            width_before: 2.0 * largest,
        }
    }

    /// Processes the trial just made.
    pub fn advance(&mut self, trial: Point) -> Next {
        let promised = DECREASE * self.start.slope;
        let allowed = self.start.value + trial.step * promised;
        if self.first_stage && trial.value <= allowed && trial.slope >= 0.0 {
            self.first_stage = false;
        }
        let stuck = self.bracketed && (trial.step <= self.low || trial.step >= self.high);
        let narrow = self.bracketed && self.high - self.low <= NARROW * self.high;
        let at_largest =
            trial.step == self.largest && trial.value <= allowed && trial.slope <= promised;
        let found = trial.value <= allowed && trial.slope.abs() <= CURVATURE * -self.start.slope;
        if found || stuck || narrow || at_largest {
            return Next::Accept;
        }

        let mut step =
            if self.first_stage && trial.value <= self.best.value && trial.value > allowed {
                let tilt = |p: Point, by: f64| Point {
                    value: p.value + by * p.step,
                    slope: p.slope + by,
                    ..p
                };
                let (best, other) = (tilt(self.best, -promised), tilt(self.other, -promised));
                let step = self.interpolate(best, other, tilt(trial, -promised));
                self.best = tilt(self.best, promised);
                self.other = tilt(self.other, promised);
                step
            } else {
                self.interpolate(self.best, self.other, trial)
            };

        if self.bracketed {
            let distance = (self.other.step - self.best.step).abs();
            if distance >= 0.66 * self.width_before {
                step = self.best.step + 0.5 * (self.other.step - self.best.step);
            }
            self.width_before = self.width;
            self.width = distance;
            self.low = self.best.step.min(self.other.step);
            self.high = self.best.step.max(self.other.step);
        } else {
            self.low = step + 1.1 * (step - self.best.step);
            self.high = step + 4.0 * (step - self.best.step);
        }
        step = step.max(0.0).min(self.largest);
        let hopeless = self.bracketed
            && (step <= self.low
                || step >= self.high
                || self.high - self.low <= NARROW * self.high);
        Next::Try(if hopeless { self.best.step } else { step })
    }

    /// The next trial step, and the new ends of the interval (section 4 of the paper, cases 1 to 4).
    fn interpolate(&mut self, best: Point, other: Point, trial: Point) -> f64 {
        let (x, y, p) = (best, other, trial);
        let opposite = p.slope * x.slope.signum() < 0.0;
        let step;
        if p.value > x.value {
            // Case 1: higher. The minimum lies between; the cubic step if nearer to the best one.
            let (cubic, quadratic) = (
                cubic_between(x, p),
                x.step + quadratic_share(x, p) * (p.step - x.step),
            );
            step = if (cubic - x.step).abs() <= (quadratic - x.step).abs() {
                cubic
            } else {
                cubic + (quadratic - cubic) / 2.0
            };
            self.bracketed = true;
        } else if opposite {
            // Case 2: lower, slopes of opposite sign. The minimum lies between; the step farther from the trial.
            let (cubic, secant) = (cubic_between(p, x), secant(p, x));
            step = if (cubic - p.step).abs() > (secant - p.step).abs() {
                cubic
            } else {
                secant
            };
            self.bracketed = true;
        } else if p.slope.abs() < x.slope.abs() {
            // Case 3: lower, same sign, flatter. The cubic may have no minimum in this direction.
            let (cubic, secant) = (cubic_beyond(x, p, self.low, self.high), secant(p, x));
            if self.bracketed {
                let nearer = if (cubic - p.step).abs() < (secant - p.step).abs() {
                    cubic
                } else {
                    secant
                };
                let bound = p.step + 0.66 * (y.step - p.step);
                step = if p.step > x.step {
                    nearer.min(bound)
                } else {
                    nearer.max(bound)
                };
            } else {
                let farther = if (cubic - p.step).abs() > (secant - p.step).abs() {
                    cubic
                } else {
                    secant
                };
                step = farther.max(self.low).min(self.high);
            }
        } else {
            // Case 4: lower, same sign, no flatter.
            step = if self.bracketed {
                cubic_between(p, y)
            } else if p.step > x.step {
                self.high
            } else {
                self.low
            };
        }

        (self.best, self.other) = if p.value > x.value {
            (x, p)
        } else if opposite {
            (p, x)
        } else {
            (p, y)
        };
        step
    }
}

/// The minimiser of the cubic through both points with their slopes, as seen from `from`, where the minimum lies
/// between them.
fn cubic_between(from: Point, to: Point) -> f64 {
    let theta = 3.0 * (from.value - to.value) / (to.step - from.step) + from.slope + to.slope;
    let scale = theta.abs().max(from.slope.abs()).max(to.slope.abs());
    let root = ((theta / scale).powi(2) - from.slope / scale * (to.slope / scale))
        .max(0.0)
        .sqrt();
    let gamma = if to.step < from.step {
        -scale * root
    } else {
        scale * root
    };
    let share = (gamma - from.slope + theta) / (2.0 * gamma - from.slope + to.slope);
    from.step + share * (to.step - from.step)
}

/// The minimiser of the same cubic beyond `trial`, away from `best`, or the bound on that side.
fn cubic_beyond(best: Point, trial: Point, low: f64, high: f64) -> f64 {
    let theta =
        3.0 * (best.value - trial.value) / (trial.step - best.step) + best.slope + trial.slope;
    let scale = theta.abs().max(best.slope.abs()).max(trial.slope.abs());
    let root = ((theta / scale).powi(2) - best.slope / scale * (trial.slope / scale))
        .max(0.0)
        .sqrt();
    let gamma = if trial.step > best.step {
        -scale * root
    } else {
        scale * root
    };
    let share = (gamma - trial.slope + theta) / (gamma + (best.slope - trial.slope) + gamma);
    if share < 0.0 && gamma != 0.0 {
        trial.step + share * (best.step - trial.step)
    } else if trial.step > best.step {
        high
    } else {
        low
    }
}

/// Minimiser of the parabola through both values with the slope at `from`, as a step relative to the distance between
/// `from` and `to`.
fn quadratic_share(from: Point, to: Point) -> f64 {
    from.slope / ((from.value - to.value) / (to.step - from.step) + from.slope) / 2.0
}

/// Step at which the line through both slopes is zero.
fn secant(trial: Point, best: Point) -> f64 {
    trial.step + trial.slope / (trial.slope - best.slope) * (best.step - trial.step)
}
