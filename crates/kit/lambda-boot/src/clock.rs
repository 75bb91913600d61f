//! A clock that tests can replace.

use std::sync::Arc;
use std::time::SystemTime;

/// The time of day: the system's, or in tests one that is set by hand. Clones show the same time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::from_fn(SystemTime::now)
    }

    /// A clock that shows what `now` returns.
    pub fn from_fn(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        (self.0)()
    }

    /// This clock as a closure, for a library that takes one.
    pub fn as_fn(&self) -> impl Fn() -> SystemTime + Send + Sync + use<> {
        let clock = self.clone();
        move || clock.now()
    }
}
