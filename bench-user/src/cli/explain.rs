//! Arguments of what is explained by the kernel.

use clap::Args;

use super::ExplainName;

/// Explanations from the kernel.
#[derive(Debug, Default, Args)]
pub struct ExplainArgs {
    /// Say why, from the kernel; each kind costs the target time [without a list: all]
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        help_heading = "Observation"
    )]
    pub explain: Vec<ExplainName>,
}
