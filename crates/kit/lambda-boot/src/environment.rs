//! Configuration: from the environment only.

/// The environment variables of a process, or of a test.
pub struct Environment<'a>(Box<Lookup<'a>>);

type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A variable that must be set and is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("environment variable {name} is not set: set it to {meaning}")]
pub struct Missing {
    name: &'static str,
    meaning: &'static str,
}

impl<'a> Environment<'a> {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self::from_fn(|name| std::env::var(name).ok())
    }

    /// Those that `variable` knows.
    pub fn from_fn(variable: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self(Box::new(variable))
    }

    /// A variable's value; an empty one is as good as none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// A variable's value, or a sentence that says what to set.
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
