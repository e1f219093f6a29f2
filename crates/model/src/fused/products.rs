//! The fastest matrix products on this processor, measured once per process.
//!
//! Two libraries inside LibTorch can do it, MKL and oneDNN, and bfloat16 operands can be multiplied as they are or as
//! f32 numbers. The fastest choice depends on the processor, and no flag predicts it reliably: MKL leaves the 512-bit
//! units of AMD processors unused, where oneDNN is twice as fast (family 26) or divides work better among threads
//! (family 25: 1.1 times as fast on one thread, 1.3 to 1.9 times on two); AVX512-BF16's `vdpbf16ps` does twice as many
//! products a second as f32's `vfmadd` on one processor (AMD, family 26) and half as many on another (Intel Sapphire
//! Rapids without AMX). So a few products are timed on first use, on one thread, and a way that is not the expected one is
//! taken where it is clearly faster: ratios near the threshold are rare, and runs repeat bit for bit as long as the choice
//! does. Expected is MKL on Intel's processors, and oneDNN on others that it runs on. A checkpoint holds the choice, so
//! that an interrupted run goes on with its own ([`resume_products`]).

#[cfg(feature = "tch")]
use std::sync::atomic::{AtomicU8, Ordering};

use std::fmt;

use anyhow::{Result, bail, ensure};

/// Implementation of products of bfloat16 operands on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bf16Products {
    /// Operands stay bfloat16, by oneDNN: AVX512-BF16 or tile units (AMX).
    Native,
    /// Operands widened to f32.
    AsF32,
}

/// The library that multiplies f32 matrices on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum F32Products {
    /// LibTorch's choice, MKL on x86-64.
    Default,
    /// oneDNN.
    OneDnn,
}

/// The fastest implementation of each kind, and the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Products {
    /// Products of f32 operands.
    pub f32: F32Products,
    /// Products of operands rounded to bfloat16.
    pub bf16: Bf16Products,
    /// Speeds on one thread; absent where nothing was measured.
    pub speeds: Option<Speeds>,
}

/// 10⁹ floating-point operations per second on one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speeds {
    /// f32, LibTorch's default.
    pub default: f64,
    /// oneDNN; absent on processors without AVX-512, where LibTorch refuses it.
    pub onednn: Option<OneDnnSpeeds>,
}

/// 10⁹ floating-point operations per second by oneDNN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneDnnSpeeds {
    /// f32.
    pub f32: f64,
    /// bfloat16, with the operands rounded from f32 and the result widened to f32.
    pub bf16: f64,
}

/// Factor by which another implementation must be faster than the expected one to be chosen.
const CLEARLY: f64 = 1.25;

impl fmt::Display for Products {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let bf16 = match self.bf16 {
            Bf16Products::Native => "as bf16",
            Bf16Products::AsF32 => "as f32",
        };
        let f32 = match self.f32 {
            F32Products::Default => "LibTorch's default (MKL)",
            F32Products::OneDnn => "oneDNN",
        };
        write!(
            formatter,
            "bf16 operands are multiplied {bf16}, f32 operands by {f32}"
        )?;
        let Some(speeds) = self.speeds else {
            return Ok(());
        };
        write!(
            formatter,
            "; measured on one thread: f32 {:.0} GFLOP/s by default",
            speeds.default
        )?;
        match speeds.onednn {
            Some(onednn) => write!(
                formatter,
                " and {:.0} by oneDNN, bf16 {:.0}",
                onednn.f32, onednn.bf16
            ),
            None => formatter.write_str("; LibTorch has no products by oneDNN on this processor"),
        }
    }
}

impl Products {
    const DEFAULT: Self = Self {
        f32: F32Products::Default,
        bf16: Bf16Products::AsF32,
        speeds: None,
    };

    /// Chooses the implementations by their speeds, and by whether the processor is one for which MKL is written.
    #[cfg_attr(not(feature = "tch"), allow(dead_code))]
    fn fastest(speeds: Speeds, is_intel: bool) -> Self {
        let mut fastest = Self {
            speeds: Some(speeds),
            ..Self::DEFAULT
        };
        if let Some(onednn) = speeds.onednn {
            let expected = if is_intel { CLEARLY } else { 1.0 / CLEARLY };
            if onednn.f32 >= expected * speeds.default {
                fastest.f32 = F32Products::OneDnn;
            }
            if onednn.bf16 >= CLEARLY * speeds.default.max(onednn.f32) {
                fastest.bf16 = Bf16Products::Native;
            }
        }
        fastest
    }

    /// Returns whether LibTorch multiplies by oneDNN on this processor.
    pub fn has_onednn(&self) -> bool {
        self.speeds.is_some_and(|speeds| speeds.onednn.is_some())
    }

    /// Name of the choices, for checkpoints.
    pub fn name(&self) -> &'static str {
        NAMES[self.number()]
    }

    /// Place of the choices in [`NAMES`].
    fn number(&self) -> usize {
        let is_onednn = self.f32 == F32Products::OneDnn;
        usize::from(is_onednn) + 2 * usize::from(self.bf16 == Bf16Products::Native)
    }

    /// The choices at a place in [`NAMES`], where this processor has them.
    #[cfg_attr(not(feature = "tch"), allow(dead_code))]
    fn numbered(mut self, number: usize) -> Self {
        if number == 0 || self.has_onednn() {
            self.f32 = match number % 2 {
                0 => F32Products::Default,
                _ => F32Products::OneDnn,
            };
            self.bf16 = match number / 2 {
                0 => Bf16Products::AsF32,
                _ => Bf16Products::Native,
            };
        }
        self
    }

    /// Applies the choices in `TOTUNE_F32_PRODUCTS` (`default`, `onednn`) and `TOTUNE_BF16_PRODUCTS` (`native`,
    /// `as-f32`).
    ///
    /// # Errors
    /// When one of them holds another word, or a choice that this processor lacks.
    #[cfg_attr(not(feature = "tch"), allow(dead_code))]
    fn overridden(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let has_onednn = self.has_onednn();
        let available = |name: &str, value: &str| {
            ensure!(
                has_onednn,
                "{name}: found `{value}`, which needs oneDNN; LibTorch has no products by oneDNN on this processor"
            );
            Ok(())
        };
        let [name, _] = VARIABLES;
        if let Some(value) = variable(name) {
            self.f32 = match value.as_str() {
                "default" => F32Products::Default,
                "onednn" => {
                    available(name, &value)?;
                    F32Products::OneDnn
                }
                _ => bail!("{name}: found `{value}`, expected default or onednn"),
            };
        }
        let [_, name] = VARIABLES;
        if let Some(value) = variable(name) {
            self.bf16 = match value.as_str() {
                "native" => {
                    available(name, &value)?;
                    Bf16Products::Native
                }
                "as-f32" => Bf16Products::AsF32,
                _ => bail!("{name}: found `{value}`, expected native or as-f32"),
            };
        }
        Ok(self)
    }
}

/// Environment variables that override the measurement: of f32 products, of bfloat16 ones.
#[cfg_attr(not(feature = "tch"), allow(dead_code))]
const VARIABLES: [&str; 2] = ["TOTUNE_F32_PRODUCTS", "TOTUNE_BF16_PRODUCTS"];

/// Names of the four choices.
const NAMES: [&str; 4] = [
    "f32 default, bf16 as-f32",
    "f32 onednn, bf16 as-f32",
    "f32 default, bf16 native",
    "f32 onednn, bf16 native",
];

/// Place in [`NAMES`] of the choices of the run that has been resumed; [`MEASURED`] without one.
#[cfg(feature = "tch")]
static RESUMED: AtomicU8 = AtomicU8::new(MEASURED);

/// The place after them.
#[cfg(feature = "tch")]
const MEASURED: u8 = NAMES.len() as u8;

/// Multiplies from now on as the interrupted run did whose checkpoint has this [name](Products::name), or, without a
/// name, as measured.
///
/// Another rounding would make it another run. Choices that this processor lacks, unknown names and devices other than
/// LibTorch's change nothing; an environment variable still overrides the name.
pub fn resume_products(name: Option<&str>) {
    #[cfg(feature = "tch")]
    {
        let number = name.and_then(|name| NAMES.iter().position(|known| *known == name));
        let number = number.map_or(MEASURED, |number| number as u8);
        RESUMED.store(number, Ordering::Relaxed);
    }
    #[cfg(not(feature = "tch"))]
    let _ = name;
}

/// Checks the environment variables that override the measurement, so that a program can refuse them before it begins.
/// Where one is set, this measures as [`products`] does.
///
/// # Errors
/// When one holds an unknown word, or a choice that this processor lacks. Without LibTorch none has an effect.
pub fn check_environment() -> Result<()> {
    #[cfg(feature = "tch")]
    if VARIABLES.iter().any(|name| variable(name).is_some()) {
        measured().overridden(variable)?;
    }
    Ok(())
}

#[cfg(feature = "tch")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns true if this is a processor of Intel.
#[cfg(feature = "tch")]
fn is_intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let maker = std::arch::x86_64::__cpuid(0);
        [maker.ebx, maker.edx, maker.ecx]
            .map(u32::to_le_bytes)
            .concat()
            == b"GenuineIntel"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The fastest implementations on this processor.
#[cfg(feature = "tch")]
fn measured() -> Products {
    let speeds = super::shim::product_speeds();
    let speeds = speeds.map(|[default, f32, bf16]| Speeds {
        default,
        onednn: (f32 > 0.0 && bf16 > 0.0).then_some(OneDnnSpeeds { f32, bf16 }),
    });
    speeds.map_or(Products::DEFAULT, |speeds| {
        Products::fastest(speeds, is_intel())
    })
}

/// Returns the implementations of products on the CPU; the first caller measures them, which takes about 10 ms.
///
/// # Panics
/// Where [`check_environment`] returns an error.
pub fn products() -> Products {
    #[cfg(feature = "tch")]
    {
        // By the place of the choices that were resumed, and last as measured.
        static FOUND: std::sync::OnceLock<[Products; NAMES.len() + 1]> = std::sync::OnceLock::new();
        let found = FOUND.get_or_init(|| {
            let measured = measured();
            std::array::from_fn(|at| match at {
                at if at == usize::from(MEASURED) => measured,
                number => measured.numbered(number),
            })
            .map(|choice| match choice.overridden(variable) {
                Ok(choice) => choice,
                Err(error) => panic!("{error}"),
            })
        });
        found[usize::from(RESUMED.load(Ordering::Relaxed))]
    }
    #[cfg(not(feature = "tch"))]
    Products::DEFAULT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_clearly_faster_is_taken() {
        let fastest = |default, onednn: Option<[f64; 2]>, is_intel| {
            let speeds = Speeds {
                default,
                onednn: onednn.map(|[f32, bf16]| OneDnnSpeeds { f32, bf16 }),
            };
            let found = Products::fastest(speeds, is_intel);
            (found.f32, found.bf16)
        };
        use Bf16Products::*;
        use F32Products::{Default, OneDnn};
        let (intel, amd) = (true, false);
        assert_eq!(fastest(100.0, Some([210.0, 430.0]), amd), (OneDnn, Native)); // family 26
        assert_eq!(fastest(98.0, Some([107.0, 160.0]), amd), (OneDnn, Native)); // family 25
        assert_eq!(fastest(110.0, Some([80.0, 80.0]), amd), (Default, AsF32));
        assert_eq!(fastest(110.0, Some([105.0, 55.0]), intel), (Default, AsF32)); // Sapphire Rapids without AMX
        assert_eq!(
            fastest(110.0, Some([115.0, 900.0]), intel),
            (Default, Native)
        ); // with AMX
        assert_eq!(fastest(100.0, Some([210.0, 220.0]), intel), (OneDnn, AsF32));
        assert_eq!(fastest(60.0, None, amd), (Default, AsF32)); // without AVX-512
    }

    #[test]
    fn choices_of_a_checkpoint_are_taken_where_the_processor_has_them() {
        let measured = |onednn: Option<OneDnnSpeeds>| {
            let default = 100.0;
            Products::fastest(Speeds { default, onednn }, true)
        };
        let speeds = OneDnnSpeeds {
            f32: 200.0,
            bf16: 300.0,
        };
        for (number, name) in NAMES.into_iter().enumerate() {
            assert_eq!(measured(Some(speeds)).numbered(number).name(), name);
            let without = measured(None);
            assert_eq!(without.numbered(number), without);
        }
    }

    #[test]
    fn the_environment_overrides_the_measurement() {
        let onednn = OneDnnSpeeds {
            f32: 100.0,
            bf16: 100.0,
        };
        let speeds = Speeds {
            default: 100.0,
            onednn: Some(onednn),
        };
        let measured = Products::fastest(speeds, true);
        let found = measured.overridden(|name| {
            let value = match name {
                "TOTUNE_F32_PRODUCTS" => "onednn",
                _ => "native",
            };
            Some(value.to_string())
        });
        let found = found.expect("known words");
        assert_eq!(found.f32, F32Products::OneDnn);
        assert_eq!(found.bf16, Bf16Products::Native);
        let unset = Products::DEFAULT.overridden(|_| None);
        assert_eq!(unset.expect("no words"), Products::DEFAULT);
    }

    #[test]
    fn other_words_and_choices_that_the_processor_lacks_are_refused_by_name() {
        for (name, value, expected) in [
            ("TOTUNE_F32_PRODUCTS", "mkl", "expected default or onednn"),
            ("TOTUNE_F32_PRODUCTS", "onednn", "which needs oneDNN"),
            ("TOTUNE_BF16_PRODUCTS", "", "expected native or as-f32"),
            ("TOTUNE_BF16_PRODUCTS", "native", "which needs oneDNN"),
        ] {
            let set = |asked: &str| (asked == name).then(|| value.to_string());
            let error = Products::DEFAULT.overridden(set).expect_err(name);
            let expected = format!("{name}: found `{value}`, {expected}");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}
