//! Lists of CPUs as the kernel and people write them: `0-3,6`.

/// Far above any machine; it keeps a mistyped bound from filling the memory.
const CPUS_MAX: usize = 8192;

/// Reads a list: the CPUs, ascending, each once. An empty text is an empty list.
///
/// # Errors
/// When it is not such a list, in one sentence.
pub fn parse(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || {
        let text = text.trim();
        format!("\"{text}\" is not a list of CPUs: write one as \"0-3,6\"")
    };
    let mut cpus = Vec::new();
    if text.trim().is_empty() {
        return Ok(cpus);
    }
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last && last < CPUS_MAX => {
                cpus.extend(first..=last)
            }
            _ => return Err(wrong()),
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Digits only: `parse` alone would take a plus sign too.
fn number(text: &str) -> Option<usize> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Writes a list, CPU by CPU.
#[must_use]
pub fn show(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_ranges_and_gaps() {
        let check = |text, expect: &[usize]| assert_eq!(parse(text).unwrap(), expect);
        check("0-3,6\n", &[0, 1, 2, 3, 6]);
        check("7", &[7]);
        check(" 2, 0-1,1 ", &[0, 1, 2]);
        check("8191", &[8191]);
        check("", &[]);
        for wrong in ["3-1", "a", "0-", "1;2", "8192", "0,,1", "-1", "+1", "0x1", "1 2"] {
            assert!(parse(wrong).unwrap_err().contains("0-3,6"), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        assert_eq!(parse(&show(&[0, 2, 5])).unwrap(), [0, 2, 5]);
    }
}
