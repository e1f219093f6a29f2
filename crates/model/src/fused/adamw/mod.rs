//! AdamW and BertAdam, and clipping by the global norm.

#[cfg(feature = "tch")]
mod bundled;
#[cfg(feature = "tch")]
mod rows;
mod state;

pub use state::ParameterMoments;

use std::collections::HashMap;

#[cfg(feature = "tch")]
use burn::backend::LibTorch;
#[cfg(feature = "tch")]
use burn::backend::libtorch::TchTensor;
use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};

use crate::by_path::{PathMapper, map_by_path};

/// The constants of the update.
#[derive(Debug, Clone, PartialEq)]
pub struct AdamWConfig {
    /// Decay of the first moment.
    pub beta_1: f64,
    /// Decay of the second moment.
    pub beta_2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Bias correction of the moments; BERT's own optimiser has none.
    pub bias_correction: bool,
}

/// Learning rate and weight decay of a parameter in this step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Learning rate.
    pub lr: f64,
    /// Decoupled weight decay, multiplied by the learning rate.
    pub weight_decay: f64,
}

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019) over all parameters of a module.
///
/// `m = β₁ m + (1 - β₁) g`, `v = β₂ v + (1 - β₂) g²`, `p = p (1 - lr wd) - lr m̂ / (sqrt(v̂) + ε)`, where
/// `m̂ = m / (1 - β₁ᵗ)` and `v̂ = v / (1 - β₂ᵗ)` with bias correction, else `m` and `v` (`BertAdam`); `t` counts the
/// steps of each parameter by itself.
///
/// On LibTorch the step is one fused call per rate that changes parameters in place: a clone of the module shares
/// them, so take `module.into_record()` to keep a copy.
///
/// A step that reads few rows of a large table need not go through all of it: after [`AdamW::select_rows`] it takes a
/// gradient of these rows alone, and the others take the step when they are selected, or by [`AdamW::settle`].
#[derive(Debug)]
pub struct AdamW {
    config: AdamWConfig,
    moments: HashMap<ParamId, Box<dyn std::any::Any + Send>>,
    #[cfg(feature = "tch")]
    rows: HashMap<ParamId, rows::RowUpdates>,
}

/// Both moments of one parameter, and the steps it took.
#[derive(Debug, Clone)]
struct Moments<const D: usize> {
    first: Tensor<D>,
    second: Tensor<D>,
    steps: i32,
}

impl AdamW {
    /// An optimiser without moments.
    pub fn new(config: &AdamWConfig) -> Self {
        Self {
            config: config.clone(),
            moments: HashMap::new(),
            #[cfg(feature = "tch")]
            rows: HashMap::new(),
        }
    }

    /// Returns a copy of `rows` of `table`, `[rows, width]`, as they are after all steps so far, and expects the gradient of
    /// the next step to be of them; they are ascending. `None`, and nothing has changed, where updates of rows
    /// are not built: elsewhere than on LibTorch's CPU.
    ///
    /// Until [`AdamW::settle`] other rows of the table may lack steps, so nothing but the next step may read it.
    ///
    /// # Panics
    /// When the table has no such row, or they are not ascending.
    pub fn select_rows(&mut self, table: &Param<Tensor<2>>, rows: Vec<i64>) -> Option<Tensor<2>> {
        #[cfg(feature = "tch")]
        {
            let value = table.val().inner();
            rows::are_updated(&value)
                .then(|| self.updates_of(table.id, &value).select(rows))
                .map(|rows| Tensor::from_primitive::<LibTorch>(TchTensor::new(rows)))
        }
        #[cfg(not(feature = "tch"))]
        {
            let _ = (table, rows);
            None
        }
    }

    /// Lets all rows of all tables take the steps that they were left out of, so that the module may be read.
    pub fn settle(&mut self) {
        #[cfg(feature = "tch")]
        for (_, rows) in self.rows.drain() {
            rows.settle();
        }
    }

    #[cfg(feature = "tch")]
    fn updates_of(&mut self, id: ParamId, value: &Tensor<2>) -> &mut rows::RowUpdates {
        use super::libtorch::raw;

        let moments = self.moments(id, value);
        let tensors = [raw(value), raw(&moments.first), raw(&moments.second)];
        let [beta_1, beta_2] = [self.config.beta_1, self.config.beta_2];
        let constants = rows::Constants {
            keep_second: beta_2 as f32,
            add_second: (1.0 - beta_2) as f32,
            add_first: (1.0 - beta_1) as f32,
            epsilon: self.config.epsilon as f32,
        };
        let new = || rows::RowUpdates::new(tensors, constants);
        self.rows.entry(id).or_insert_with(new)
    }

    /// Updates every parameter that has a gradient and for whose path `rates` gives a rate; others do not change.
    pub fn step<M: Module>(
        &mut self,
        module: M,
        mut grads: GradientsParams,
        rates: &dyn Fn(&str) -> Option<Rate>,
    ) -> M {
        let mut stepper = Stepper {
            optimizer: self,
            grads: &mut grads,
            rates,
            #[cfg(feature = "tch")]
            bundles: Vec::new(),
        };
        let module = map_by_path(module, &mut stepper);
        #[cfg(feature = "tch")]
        {
            let bundles = std::mem::take(&mut stepper.bundles);
            for (rate, bundle) in &bundles {
                let betas = [self.config.beta_1, self.config.beta_2];
                let epsilon = self.config.epsilon;
                super::shim::adamw(bundle, rate.lr, betas, rate.weight_decay, epsilon);
            }
        }
        module
    }

    fn moments<const D: usize>(&mut self, id: ParamId, like: &Tensor<D>) -> &mut Moments<D> {
        let moments = self.moments.entry(id).or_insert_with(|| {
            Box::new(Moments {
                first: like.zeros_like(),
                second: like.zeros_like(),
                steps: 0,
            })
        });
        moments.downcast_mut().expect("a parameter keeps its rank")
    }
}

struct Stepper<'a> {
    optimizer: &'a mut AdamW,
    grads: &'a mut GradientsParams,
    rates: &'a dyn Fn(&str) -> Option<Rate>,
    #[cfg(feature = "tch")]
    bundles: Vec<(Rate, super::shim::Bundle)>,
}

impl PathMapper for Stepper<'_> {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(rate) = (self.rates)(path) else {
            return param;
        };
        let Some(grad) = self.grads.remove::<D>(param.id) else {
            return param;
        };
        #[cfg(feature = "tch")]
        if self.optimizer.rows.contains_key(&param.id) {
            self.optimizer.step_rows(rate, &param, &grad);
            return param;
        }
        #[cfg(feature = "tch")]
        if super::libtorch::owns(&param.val().device()) {
            self.bundle(rate, &param, grad);
            return param;
        }
        let config = self.optimizer.config.clone();
        let moments = self.optimizer.moments(param.id, &grad);
        param.map(|value| {
            let required = value.is_require_grad();
            let moved = update(value.inner(), grad, moments, rate, &config);
            Tensor::from_inner(moved).set_require_grad(required)
        })
    }
}

#[cfg(feature = "tch")]
impl AdamW {
    /// Takes a step with the gradient of the selected rows of a table.
    fn step_rows<const D: usize>(
        &mut self,
        rate: Rate,
        table: &Param<Tensor<D>>,
        grad: &Tensor<D>,
    ) {
        let config = self.config.clone();
        let moments = self.moments(table.id, &table.val().inner());
        moments.steps += 1;
        let correction = |beta: f64| {
            if config.bias_correction {
                1.0 - beta.powi(moments.steps)
            } else {
                1.0
            }
        };
        let numbers = rows::StepNumbers {
            decay: (1.0 - rate.lr * rate.weight_decay) as f32,
            size: -(rate.lr / correction(config.beta_1)) as f32,
            root: correction(config.beta_2).sqrt() as f32,
        };
        let rows = self.rows.get_mut(&table.id).expect("rows were selected");
        rows.step(&super::libtorch::raw(grad), numbers);
    }
}

#[cfg(feature = "tch")]
impl Stepper<'_> {
    /// Puts a parameter into the bundle of its rate; the call comes when all are collected.
    fn bundle<const D: usize>(&mut self, rate: Rate, param: &Param<Tensor<D>>, grad: Tensor<D>) {
        use super::libtorch::raw;

        let corrected = self.optimizer.config.bias_correction;
        let moments = self.optimizer.moments(param.id, &grad);
        moments.steps += 1;
        // Without bias correction: after this many steps the corrections are exactly one.
        let steps_taken = if corrected { moments.steps as f32 } else { 1e9 };
        let place = match self.bundles.iter().position(|(other, _)| *other == rate) {
            Some(place) => place,
            None => {
                self.bundles.push((rate, Default::default()));
                self.bundles.len() - 1
            }
        };
        let bundle = &mut self.bundles[place].1;
        let grad = raw(&grad);
        // Parameters are updated together, so that one number does for most of them; it is made where it is read, without a
        // copy from the host.
        let steps = match bundle.steps.last() {
            Some(last) if bundle.last_steps == steps_taken => last.shallow_clone(),
            _ => tch::Tensor::full(
                [0i64; 0],
                f64::from(steps_taken),
                (tch::Kind::Float, grad.device()),
            ),
        };
        bundle.last_steps = steps_taken;
        bundle.steps.push(steps);
        bundle.params.push(raw(&param.val()));
        bundle.grads.push(grad);
        bundle.firsts.push(raw(&moments.first));
        bundle.seconds.push(raw(&moments.second));
    }
}

/// The formulas of [`AdamW`] in burn operations.
fn update<const D: usize>(
    value: Tensor<D>,
    grad: Tensor<D>,
    moments: &mut Moments<D>,
    rate: Rate,
    config: &AdamWConfig,
) -> Tensor<D> {
    let (b1, b2) = (config.beta_1, config.beta_2);
    moments.steps += 1;
    moments.first = moments.first.clone() * b1 + grad.clone() * (1.0 - b1);
    moments.second = moments.second.clone() * b2 + grad.clone() * grad * (1.0 - b2);
    let (correct_1, correct_2) = if config.bias_correction {
        (1.0 - b1.powi(moments.steps), 1.0 - b2.powi(moments.steps))
    } else {
        (1.0, 1.0)
    };
    let root = moments.second.clone().sqrt() / correct_2.sqrt() + config.epsilon;
    let towards = moments.first.clone() / correct_1 / root;
    value * (1.0 - rate.lr * rate.weight_decay) - towards * rate.lr
}

/// The norm of all gradients of a step together, where it was computed: reading it may wait for the device.
#[derive(Debug)]
pub struct GradientNorm(Norm);

// There is one in a step.
#[cfg_attr(feature = "tch", expect(clippy::large_enum_variant))]
#[derive(Debug)]
enum Norm {
    Known(f64),
    #[cfg(feature = "tch")]
    OnDevice(Tensor<1>),
}

impl GradientNorm {
    /// Waits for the number; 0 without gradients.
    pub fn read(&self) -> f64 {
        match &self.0 {
            Norm::Known(norm) => *norm,
            #[cfg(feature = "tch")]
            Norm::OnDevice(norm) => f64::from(norm.clone().into_scalar::<f32>()),
        }
    }
}

/// Scales all gradients by `max / (norm + 1e-6)` where that is below one, as PyTorch's `clip_grad_norm_`; returns the
/// norm of all gradients together before clipping. Without `max` it only measures.
///
/// On the CPU the norm is known at once, and gradients below `max`, or of a norm that is not finite, are left alone.
/// On a GPU they are multiplied by a factor of at most one that the device computes, so that nothing waits for it.
/// A norm that f32 can hold is found although its square overflows, where PyTorch has an infinite one and makes all
/// gradients zero.
pub fn clip_global_norm<M: Module>(
    module: &M,
    grads: &mut GradientsParams,
    max: Option<f64>,
) -> GradientNorm {
    #[cfg(feature = "tch")]
    let norm = match bundled::clip(module, grads, max) {
        Some(bundled::Clipped::Done(norm)) => return norm,
        Some(bundled::Clipped::Norm(norm)) => norm,
        None => global_norm(module, grads),
    };
    #[cfg(not(feature = "tch"))]
    let norm = global_norm(module, grads);
    if let Some(max) = max {
        let scale = max / (norm + 1e-6);
        if norm.is_finite() && scale < 1.0 {
            module.visit(&mut Scaled { grads, scale });
        }
    }
    GradientNorm(Norm::Known(norm))
}

/// The norm of all gradients together, in burn operations.
fn global_norm<M: Module>(module: &M, grads: &mut GradientsParams) -> f64 {
    let mut squares = Squares {
        grads,
        norms: Vec::new(),
    };
    module.visit(&mut squares);
    let norms = squares.norms;
    if norms.is_empty() {
        return 0.0;
    }
    let norms: Tensor<1> = Tensor::cat(norms, 0);
    match (norms.clone() * norms).sum().sqrt().into_scalar::<f32>() {
        f32::INFINITY => large_norm(module, grads),
        norm => f64::from(norm),
    }
}

/// Returns true if numbers on `device` can be read without waiting for work that was given to it before.
pub fn reads_at_once(device: &Device) -> bool {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(device) {
        return super::libtorch::owns_in_main_memory(device);
    }
    let _ = device;
    true
}

struct Squares<'a> {
    grads: &'a mut GradientsParams,
    norms: Vec<Tensor<1>>,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.grads.get::<D>(param.id) {
            self.norms.push(norm(grad));
        }
    }
}

/// The Euclidean norm of a tensor, `[1]`.
fn norm<const D: usize>(grad: Tensor<D>) -> Tensor<1> {
    (grad.clone() * grad).sum().sqrt()
}

/// The norm of gradients together where their squares are too large for f32, as those of a recurrence over a long text can
/// be; not finite where a gradient is not.
fn large_norm<M: Module>(module: &M, grads: &GradientsParams) -> f64 {
    let mut large = Large { grads, norm: 0.0 };
    module.visit(&mut large);
    large.norm
}

struct Large<'a> {
    grads: &'a GradientsParams,
    norm: f64,
}

impl ModuleVisitor for Large<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(grad) = self.grads.get::<D>(param.id) else {
            return;
        };
        let largest = grad.clone().abs().max().into_scalar::<f32>();
        if largest != 0.0 {
            let share = norm(grad / largest).into_scalar::<f32>();
            self.norm = self.norm.hypot(f64::from(share) * f64::from(largest));
        }
    }
}

struct Scaled<'a> {
    grads: &'a mut GradientsParams,
    scale: f64,
}

impl ModuleVisitor for Scaled<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.grads.remove::<D>(param.id) {
            self.grads.register(param.id, grad * self.scale);
        }
    }
}
