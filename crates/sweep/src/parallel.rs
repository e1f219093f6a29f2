//! Work on many items at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Results of `work` on each item, in the order of the items, made by as many threads as rayon has.
///
/// Threads of its own, for work that reads or writes tables: polars computes in a pool of its own, and a thread of rayon
/// that waits for another pool begins another item in the meantime, within the first, until its stack is full.
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = rayon::current_num_threads().min(items.len());
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let items: Vec<Mutex<Option<T>>> = items
        .into_iter()
        .map(|item| Mutex::new(Some(item)))
        .collect();
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let lock = |at| -> Option<T> {
        let item: &Mutex<Option<T>> = items.get(at)?;
        item.lock().unwrap_or_else(PoisonError::into_inner).take()
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = lock(at) else { break };
                    let result = work(item);
                    *results[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let results = results.into_iter();
    let result = |result: Mutex<Option<R>>| {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.expect("a panic of a thread was passed on")
    };
    results.map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let squares = map((0..1000_u64).collect(), |number| number * number);
        assert!(
            squares
                .into_iter()
                .eq((0..1000).map(|number| number * number))
        );
        assert_eq!(map(Vec::<u8>::new(), |item| item), [0; 0]);
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_passed_on() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let work = |item: u8| assert_ne!(item, 3);
        pool.expect("threads")
            .install(|| map((0..9).collect(), work));
    }
}
