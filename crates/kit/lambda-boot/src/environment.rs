//! Configuration from environment variables.

/// The environment variables of a process, or of a test.
pub struct Environment<'a>(Box<Lookup<'a>>);

type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A required variable is not set. The message names it and says what to set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("environment variable {name} is not set: set it to {meaning}")]
pub struct Missing {
    name: &'static str,
    meaning: &'static str,
}

impl<'a> Environment<'a> {
    /// The variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self::from_fn(|name| std::env::var(name).ok())
    }

    /// The variables that `variable` returns, for tests.
    pub fn from_fn(variable: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self(Box::new(variable))
    }

    /// The value of a variable. `None` if it is not set or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The value of a required variable. `meaning` completes the sentence "set it to …" in the error message.
    pub fn needed(&self, name: &'static str, meaning: &'static str) -> Result<String, Missing> {
        self.get(name).ok_or(Missing { name, meaning })
    }

    /// Checks for the variables without which `lambda_runtime` would panic.
    pub fn check_lambda(&self) -> Result<(), Missing> {
        const RUNTIME: [&str; 4] = [
            "AWS_LAMBDA_RUNTIME_API",
            "AWS_LAMBDA_FUNCTION_NAME",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
            "AWS_LAMBDA_FUNCTION_VERSION",
        ];
        for name in RUNTIME {
            self.needed(name, "what Lambda sets it to: this binary runs inside Lambda or a host of its Runtime API")?;
        }
        Ok(())
    }
}
