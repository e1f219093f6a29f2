//! The operators that LibTorch dispatches while something runs, recorded by its own observer.
//!
//! What does not go through the dispatcher is not seen: our own passes over memory (`transformer/passes.cpp` and the
//! like) and oneDNN's products that they call. [`without_cpu_kernels`](super::without_cpu_kernels) leaves these out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A call of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its name, such as `aten::addmm`.
    pub name: String,
    /// True if it is not made by another operator.
    pub outermost: bool,
    /// True if it makes no other call: it computes, allocates, or makes a view.
    pub innermost: bool,
    /// True if it reshapes a tensor to one dimension, which burn does before it reads the numbers of a tensor, and after it
    /// has sent those of a vector to the device.
    pub flattens: bool,
}

/// Numbers of calls of an operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// At any depth.
    pub all: u64,
    /// Not made by another operator.
    pub outermost: u64,
    /// Without a call inside.
    pub innermost: u64,
}

impl Calls {
    /// Sums over all operators.
    pub fn total(operators: &BTreeMap<String, Self>) -> Self {
        let add = |sum: Self, calls: &Self| Self {
            all: sum.all + calls.all,
            outermost: sum.outermost + calls.outermost,
            innermost: sum.innermost + calls.innermost,
        };
        operators.values().fold(Self::default(), add)
    }

    /// Counts calls by name.
    pub fn by_name(calls: &[Call]) -> BTreeMap<String, Self> {
        let mut operators = BTreeMap::<String, Self>::new();
        for call in calls {
            let counts = operators.entry(call.name.clone()).or_default();
            counts.all += 1;
            counts.outermost += u64::from(call.outermost);
            counts.innermost += u64::from(call.innermost);
        }
        operators
    }
}

/// Runs `work`, and returns the operators that it dispatches on this thread, in order; without LibTorch there are none.
///
/// # Panics
/// Where `work` observes, too.
pub fn observed<T>(work: impl FnOnce() -> T) -> (T, Vec<Call>) {
    #[cfg(feature = "tch")]
    {
        let observation = kernel::Observation::begin();
        let result = work();
        (result, observation.end())
    }
    #[cfg(not(feature = "tch"))]
    (work(), Vec::new())
}

#[cfg(feature = "tch")]
mod kernel {
    use std::ffi::CStr;
    use std::marker::PhantomData;
    use std::os::raw::{c_char, c_int, c_void};

    use super::Call;
    use crate::fused::shim::check;

    type Each = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, c_int, c_int);

    unsafe extern "C" {
        fn totune_observe() -> *mut c_char;
        fn totune_observed(to: *mut c_void, each: Each) -> *mut c_char;
    }

    /// Observation of this thread, which ends where this is dropped.
    pub struct Observation {
        /// The thread is the one that it began on.
        _here: PhantomData<*const ()>,
    }

    impl Observation {
        pub fn begin() -> Self {
            // SAFETY: no arguments.
            check(unsafe { totune_observe() });
            Self { _here: PhantomData }
        }

        pub fn end(self) -> Vec<Call> {
            let calls = taken();
            std::mem::forget(self);
            calls
        }
    }

    impl Drop for Observation {
        fn drop(&mut self) {
            taken();
        }
    }

    fn taken() -> Vec<Call> {
        let mut calls = Vec::<Call>::new();
        // SAFETY: `push` gets the vector back as it was given, while it is borrowed here.
        check(unsafe { totune_observed((&raw mut calls).cast(), push) });
        calls
    }

    unsafe extern "C" fn push(
        to: *mut c_void,
        name: *const c_char,
        outermost: c_int,
        innermost: c_int,
        flattens: c_int,
    ) {
        // SAFETY: `to` is the vector of `taken`, `name` a string that lives as long as this call.
        let (calls, name) = unsafe { (&mut *to.cast::<Vec<Call>>(), CStr::from_ptr(name)) };
        calls.push(Call {
            name: name.to_string_lossy().into_owned(),
            outermost: outermost != 0,
            innermost: innermost != 0,
            flattens: flattens != 0,
        });
    }
}

#[cfg(all(test, feature = "tch"))]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::*;
    use crate::fused::libtorch::raw;

    #[test]
    fn calls_are_recorded_with_those_inside_them_and_so_is_a_read() {
        let x = Tensor::<2>::ones([2, 3], &Device::libtorch());
        let (sum, calls) = observed(|| {
            let _ = raw(&x).linear(&raw(&x), None::<tch::Tensor>); // [2, 2]
            let read: f32 = x.clone().sum().into_scalar();
            read
        });
        assert_eq!(sum, 6.0);
        let find = |name: &str| calls.iter().find(|call| call.name == name);
        let linear = find("aten::linear").expect("a call");
        assert!(linear.outermost && !linear.innermost && !linear.flattens);
        let product = find("aten::mm")
            .or(find("aten::matmul"))
            .expect("a call inside");
        assert!(!product.outermost);
        assert_eq!(calls.iter().filter(|call| call.flattens).count(), 1);

        let operators = Calls::by_name(&calls);
        assert_eq!(
            operators["aten::linear"],
            Calls {
                all: 1,
                outermost: 1,
                innermost: 0
            }
        );
        assert_eq!(Calls::total(&operators).all, calls.len() as u64);

        let (_, later) = observed(|| ());
        assert!(later.is_empty(), "{later:?}");
    }

    #[test]
    fn an_observation_ends_where_its_work_panics() {
        let failed = std::panic::catch_unwind(|| observed(|| panic!("as wanted")));
        assert!(failed.is_err());
        let (_, calls) = observed(|| Tensor::<1>::ones([2], &Device::libtorch()));
        assert!(!calls.is_empty());
    }
}
