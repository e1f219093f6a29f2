//! A monotonic stopwatch that waits for the device before it is read.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use burn::tensor::Device;

/// Adds up the time between starts and stops.
pub(crate) struct Clock {
    device: Device,
    total: Duration,
    running: Option<Instant>,
}

impl Clock {
    pub(crate) fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            total: Duration::ZERO,
            running: None,
        }
    }

    /// Starts counting, once the device has done what it was asked before.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.wait()?;
        self.running = Some(Instant::now());
        Ok(())
    }

    /// Stops counting, once the device has done what it was asked since.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.wait()?;
        if let Some(started) = self.running.take() {
            self.total += started.elapsed();
        }
        Ok(())
    }

    /// Counts time that was spent elsewhere on its behalf.
    pub(crate) fn add(&mut self, seconds: f64) {
        self.total += Duration::from_secs_f64(seconds);
    }

    /// Seconds counted so far, without waiting for the device.
    pub(crate) fn seconds(&self) -> f64 {
        let running = self.running.map_or(Duration::ZERO, |since| since.elapsed());
        (self.total + running).as_secs_f64()
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
}
