//! A monotonic stopwatch that waits for the device before it is read, and counts processor time next to wall time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use burn::tensor::Device;
use cpu_time::ProcessTime;

use crate::state::ClockReading;

/// Adds up the time between starts and stops.
#[derive(Clone)]
pub(crate) struct Clock {
    device: Device,
    total: Duration,
    /// Processor time of all threads of the process, while the clock ran; `None` once the system did not report it.
    processor: Option<Duration>,
    running: Option<(Instant, Option<ProcessTime>)>,
}

impl Clock {
    pub(crate) fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            total: Duration::ZERO,
            processor: Some(Duration::ZERO),
            running: None,
        }
    }

    /// A stopped clock with this reading.
    ///
    /// # Errors
    /// When the seconds are negative, not finite or too many.
    pub(crate) fn at(device: &Device, reading: &ClockReading) -> Result<Self> {
        let duration = |seconds| Duration::try_from_secs_f64(seconds).context("a clock reading");
        Ok(Self {
            device: device.clone(),
            total: duration(reading.seconds())?,
            processor: reading.cpu_seconds().map(duration).transpose()?,
            running: None,
        })
    }

    /// Seconds and processor seconds counted so far.
    pub(crate) fn reading(&self) -> ClockReading {
        ClockReading::of(self.seconds(), self.cpu_seconds())
    }

    /// Starts counting once the device has finished all queued work.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.wait()?;
        self.running = Some((Instant::now(), ProcessTime::try_now().ok()));
        Ok(())
    }

    /// Stops counting once the device has finished all queued work.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.wait()?;
        if let Some((started, processor)) = self.running.take() {
            self.total += started.elapsed();
            let spent = processor.and_then(|since| since.try_elapsed().ok());
            self.processor = self.processor.zip(spent).map(|(sum, spent)| sum + spent);
        }
        Ok(())
    }

    /// Counts time that was spent elsewhere on its behalf.
    pub(crate) fn add(&mut self, seconds: f64) {
        self.total += Duration::from_secs_f64(seconds);
    }

    /// Seconds counted so far, without waiting for the device.
    pub(crate) fn seconds(&self) -> f64 {
        let running = self
            .running
            .map_or(Duration::ZERO, |(since, _)| since.elapsed());
        (self.total + running).as_secs_f64()
    }

    /// Processor seconds of all threads of the process between starts and stops, without added seconds; `None` where
    /// the system does not report them.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        self.processor.map(|sum| sum.as_secs_f64())
    }

    fn wait(&self) -> Result<()> {
        self.device
            .sync()
            .context("the device failed while it was waited for")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_between_start_and_stop_counts() {
        let mut clock = Clock::new(&Device::flex());
        let pause = Duration::from_millis(20);
        std::thread::sleep(pause);
        assert_eq!(clock.seconds(), 0.0);
        clock.start().expect("flex waits for nothing");
        std::thread::sleep(pause);
        clock.stop().expect("flex waits for nothing");
        let stopped = clock.seconds();
        assert!(stopped >= 0.02, "{stopped}");
        std::thread::sleep(pause);
        assert_eq!(clock.seconds(), stopped);
    }

    #[test]
    fn a_thread_that_works_uses_the_processor_and_one_that_sleeps_does_not() {
        let mut clock = Clock::new(&Device::flex());
        clock.start().expect("flex waits for nothing");
        let begun = Instant::now();
        let mut n = 0u64;
        while begun.elapsed() < Duration::from_millis(50) {
            n = std::hint::black_box(n + 1);
        }
        clock.stop().expect("flex waits for nothing");
        let used = clock.cpu_seconds().expect("this system says");
        assert!(used > 0.0, "{n} additions took no time");
        // Other tests of this process may work meanwhile; what was added from elsewhere is no work of it.
        clock.add(1e6);
        assert_eq!(clock.cpu_seconds(), Some(used));
        assert!(clock.seconds() > 1e6);
    }
}
