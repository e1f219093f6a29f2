//! Code for the vector units of the machine it runs on.

/// Work to be compiled several times over; `run` has to be `#[inline(always)]`, with all it calls in its loops.
pub(super) trait Work {
    type Output;

    fn run(self) -> Self::Output;
}

/// Does the work with the widest vector unit there is.
///
/// The results are the same with each, as long as the work adds in an order of its own: the compiler neither reorders
/// sums nor fuses a multiplication with an addition.
pub(super) fn wide<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has just said that it knows these instructions.
            return unsafe { with_avx512(work) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { with_avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}
