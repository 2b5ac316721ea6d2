//! A value that was measured, or the reason why it was not.
//!
//! What could not be measured is never zero. In JSON a measured value stands as itself, an
//! unavailable one as `{"unavailable": "why, and what to do"}`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A measured value, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Measured<T> {
    /// Not measured.
    Unavailable {
        /// Why, and what would make it available: one sentence.
        unavailable: String,
    },
    /// The value.
    Value(T),
}

impl<T> Measured<T> {
    /// Not measured, for this reason.
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable { unavailable: why.into() }
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(v) => Some(v),
            Self::Unavailable { .. } => None,
        }
    }

    /// The reason, if there is no value.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Unavailable { unavailable } => Some(unavailable),
        }
    }

    /// The value or the reason, to go on with `?`.
    ///
    /// # Errors
    /// The reason, where there is no value.
    pub fn as_result(&self) -> Result<&T, &str> {
        match self {
            Self::Value(v) => Ok(v),
            Self::Unavailable { unavailable } => Err(unavailable),
        }
    }

    /// The same with the value changed; a reason stays.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Measured<U> {
        match self {
            Self::Value(v) => Measured::Value(f(v)),
            Self::Unavailable { unavailable } => Measured::Unavailable { unavailable },
        }
    }
}

impl<T> Default for Measured<T> {
    fn default() -> Self {
        Self::unavailable("not measured")
    }
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Measured<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(v) => Self::Value(v),
            Err(e) => Self::unavailable(format!("{e:#}")),
        }
    }
}
