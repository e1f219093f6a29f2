//! Memory of L-BFGS, and the search direction computed from it.

use std::collections::VecDeque;

/// Number of pairs of steps and gradient changes stored, scipy's `maxcor`.
const MEMORY: usize = 10;
/// Entries worked on at a time, few enough to stay in the first cache.
const BLOCK: usize = 1024;

/// The last few steps and the changes of the gradient over them: an estimate of the inverse Hessian.
///
/// The recursion needs each vector only in products with others, so it runs on a table of products (Chen, Wang
/// and Zhou 2014): one pass over the pairs for their products with the gradient, and one to add up the
/// direction, where the plain recursion makes four.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pairs: Vec<Pair>,
    /// Indices of the pairs in `pairs`, oldest first.
    order: VecDeque<usize>,
    /// The pair added since the last direction, whose products with the others are not known yet.
    fresh: Option<usize>,
    /// `step_change[i][j]` = stepᵢ · changeⱼ, where i is older than j.
    step_change: [[f64; MEMORY]; MEMORY],
    /// `change_change[i][j]` = changeᵢ · changeⱼ
    change_change: [[f64; MEMORY]; MEMORY],
    /// stepᵢ · gradient and changeᵢ · gradient, of the gradient last seen.
    step_gradient: [f64; MEMORY],
    change_gradient: [f64; MEMORY],
}

/// A step, the change of the gradient over it, and their product.
#[derive(Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    curvature: f64,
}

impl Memory {
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn forget(&mut self) {
        self.order.clear();
        self.fresh = None;
    }

    /// Minus the estimated inverse Hessian times `gradient`.
    pub fn descend(&mut self, gradient: &[f64], direction: &mut [f64]) {
        self.multiply(gradient);
        // q = -gradient - Σ weightⱼ changeⱼ, newest first.
        let mut weights = [0.0; MEMORY];
        for (position, &i) in self.order.iter().enumerate().rev() {
            let mut product = -self.step_gradient[i];
            for &j in self.order.range(position + 1..) {
                product -= weights[j] * self.step_change[i][j];
            }
            weights[i] = product / self.pairs[i].curvature;
        }
        // The inverse Hessian before any pair is applied, as a multiple of the identity.
        let scale = self
            .order
            .back()
            .map_or(1.0, |&i| self.pairs[i].curvature / self.change_change[i][i]);
        // direction = scale q + Σ shareⱼ stepⱼ, oldest first.
        let mut shares = [0.0; MEMORY];
        for (position, &i) in self.order.iter().enumerate() {
            let mut product = -self.change_gradient[i];
            for &j in &self.order {
                product -= weights[j] * self.change_change[i][j];
            }
            product *= scale;
            for &j in self.order.range(..position) {
                product += shares[j] * self.step_change[j][i];
            }
            shares[i] = weights[i] - product / self.pairs[i].curvature;
        }
        for (block, start) in direction.chunks_mut(BLOCK).zip((0..).step_by(BLOCK)) {
            let range = start..start + block.len();
            for (d, g) in block.iter_mut().zip(&gradient[range.clone()]) {
                *d = -scale * g;
            }
            for &i in &self.order {
                let pair = &self.pairs[i];
                let (along_step, along_change) = (shares[i], -scale * weights[i]);
                let vectors = pair.step[range.clone()]
                    .iter()
                    .zip(&pair.change[range.clone()]);
                for (d, (s, c)) in block.iter_mut().zip(vectors) {
                    *d += along_step * s + along_change * c;
                }
            }
        }
    }

    /// Brings the table up to date with `gradient`.
    ///
    /// The newest change is the difference of this gradient and the last, and so are its products.
    fn multiply(&mut self, gradient: &[f64]) {
        let (mut of_steps, mut of_changes) = ([0.0; MEMORY], [0.0; MEMORY]);
        for (block, start) in gradient.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let range = start..start + block.len();
            for &i in &self.order {
                of_steps[i] += dot(block, &self.pairs[i].step[range.clone()]);
                of_changes[i] += dot(block, &self.pairs[i].change[range.clone()]);
            }
        }
        if let Some(new) = self.fresh.take() {
            for &i in self.order.iter().filter(|&&i| i != new) {
                self.step_change[i][new] = of_steps[i] - self.step_gradient[i];
                let product = of_changes[i] - self.change_gradient[i];
                self.change_change[i][new] = product;
                self.change_change[new][i] = product;
            }
        }
        (self.step_gradient, self.change_gradient) = (of_steps, of_changes);
    }

    /// Takes in a step of length `step` along `direction`, unless the function does not curve upwards over it.
    pub fn learn(
        &mut self,
        step: f64,
        direction: &[f64],
        gradients: [&[f64]; 2],
        slopes: [f64; 2],
    ) {
        let curvature = (slopes[1] - slopes[0]) * step; // change · step
        if curvature <= f64::EPSILON * (-slopes[0] * step) {
            return;
        }
        let n = direction.len();
        let new = if self.order.len() == MEMORY {
            self.order.pop_front().expect("the memory is full")
        } else {
            self.order.len()
        };
        if new == self.pairs.len() {
            self.pairs.push(Pair {
                step: vec![0.0; n],
                change: vec![0.0; n],
                curvature,
            });
        }
        let pair = &mut self.pairs[new];
        pair.curvature = curvature;
        for (s, d) in pair.step.iter_mut().zip(direction) {
            *s = step * d;
        }
        add_scaled(gradients[1], -1.0, gradients[0], &mut pair.change);
        self.change_change[new][new] = dot(&pair.change, &pair.change);
        self.order.push_back(new);
        self.fresh = Some(new);
    }
}

/// a · b, in eight running sums, which the compiler can keep in vector registers.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// `sum = a + scale · b`
pub(super) fn add_scaled(a: &[f64], scale: f64, b: &[f64], sum: &mut [f64]) {
    for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
        *sum = a + scale * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_memory_the_direction_is_straight_down() {
        let mut direction = [0.0; 2];
        Memory::default().descend(&[3.0, -1.0], &mut direction);
        assert_eq!(direction, [-3.0, 1.0]);
    }

    /// Checks that with as many pairs as dimensions, exact line searches and a quadratic bowl, the estimate is exact
    /// along the steps: the direction leads to the minimum.
    #[test]
    fn two_steps_in_a_bowl_of_two_dimensions_show_the_way_to_its_bottom() {
        // f = (x² + 4 y²) / 2, from (4, 1): gradient (4, 4).
        let gradient_at = |x: [f64; 2]| [x[0], 4.0 * x[1]];
        let (mut memory, mut x, mut direction) = (Memory::default(), [4.0, 1.0], [0.0; 2]);
        for _ in 0..2 {
            let before = gradient_at(x);
            memory.descend(&before, &mut direction);
            let slope = dot(&before, &direction);
            let step = -slope / dot(&direction, &gradient_at(direction));
            x = [x[0] + step * direction[0], x[1] + step * direction[1]];
            let after = gradient_at(x);
            memory.learn(
                step,
                &direction,
                [&before, &after],
                [slope, dot(&after, &direction)],
            );
        }
        assert!(x.iter().all(|v| v.abs() < 1e-12), "{x:?}");
    }

    #[test]
    fn a_step_over_a_ridge_is_not_remembered() {
        let mut memory = Memory::default();
        memory.learn(1.0, &[1.0], [&[-1.0], &[-2.0]], [-1.0, -2.0]);
        assert!(memory.is_empty());
    }

    #[test]
    fn sums_in_blocks_include_the_rest() {
        let a: Vec<f64> = (0..19).map(f64::from).collect();
        assert_eq!(dot(&a, &a), 2109.0);
    }
}
