//! Failures of a run: panics as messages, and their status.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// `oom` where the allocator of a device or of the process says so, else `failed`.
pub(crate) fn status_of(error: &str) -> &'static str {
    let error = error.to_lowercase();
    let signs = [
        "out of memory",
        "can't allocate memory",
        "cannot allocate memory",
        "memory allocation of",
    ];
    if signs.iter().any(|sign| error.contains(sign)) {
        "oom"
    } else {
        "failed"
    }
}

/// The first 500 characters with every run of white space as one space.
pub(crate) fn one_line(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(500).collect()
}

thread_local! {
    /// Place where this thread last panicked, while a run is executed in it.
    static PANIC: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Calls `work` and turns a panic into its message and place, without the usual print to stderr. May be nested.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic
                .location()
                .map(|place| format!("{}:{}", file_name(place.file()), place.line()));
            let ours = PANIC.with_borrow_mut(|slot| match slot {
                Some(slot) => {
                    *slot = place;
                    true
                }
                None => false,
            });
            if !ours {
                usual(panic);
            }
        }));
    });
    let outer = PANIC.replace(Some(None));
    let result = catch_unwind(AssertUnwindSafe(work));
    let place = PANIC.replace(outer).flatten();
    result.map_err(|payload| {
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        format!("panicked: {}{place}", message_of(&*payload))
    })
}

/// File name of a path; the folders of the build machine mean nothing elsewhere.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        let panics = || -> () { panic!("shape {} is odd", 3) };
        let message = catch(panics).expect_err("it panics");
        assert!(
            message.starts_with("panicked: shape 3 is odd (failure.rs:"),
            "{message}"
        );
    }

    #[test]
    fn a_panic_after_a_nested_one_has_its_own_place() {
        let message = catch(|| {
            catch(|| panic!("inner")).expect_err("it panics");
            panic!("outer")
        });
        let message: Result<(), String> = message;
        let message = message.expect_err("it panics");
        assert!(
            message.starts_with("panicked: outer (failure.rs:"),
            "{message}"
        );
    }

    #[test]
    fn memory_that_ran_out_is_told_from_other_failures() {
        let cases = [
            ("CUDA out of memory. Tried to allocate 2.00 GiB", "oom"),
            (
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate",
                "oom",
            ),
            ("shape mismatch", "failed"),
        ];
        for (error, status) in cases {
            assert_eq!(status_of(error), status, "{error}");
        }
    }
}
