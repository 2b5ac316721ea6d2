//! The text file in which a run-time compiler lists its functions for profilers
//! (`/tmp/perf-PID.map`): start, length and name, the numbers in base 16 (the kernel's
//! tools/perf/Documentation/jit-interface.txt).

use std::collections::BTreeMap;

/// Functions by their first address.
#[derive(Debug, Default)]
pub(super) struct PerfMap {
    functions: BTreeMap<u64, (u64, String)>,
}

impl PerfMap {
    /// Reads the text. Lines are in order of time: where code took the place of other code, the
    /// later line counts. What is no such line is passed over.
    pub(super) fn parse(text: &str) -> Self {
        let mut map = Self::default();
        for (start, end, name) in text.lines().filter_map(function) {
            map.drop_overlapping(start, end);
            map.functions.insert(start, (end, name.to_owned()));
        }
        map
    }

    /// The function that holds this address.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }

    fn drop_overlapping(&mut self, start: u64, end: u64) {
        while let Some((at, (until, _))) = self.functions.range(..end).next_back() {
            if *until <= start {
                return;
            }
            let at = *at;
            self.functions.remove(&at);
        }
    }
}

fn function(line: &str) -> Option<(u64, u64, &str)> {
    let mut parts = line.splitn(3, ' ');
    let mut number = || {
        let text = parts.next()?;
        u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
    };
    let (start, length) = (number()?, number()?);
    let name = parts.next()?.trim();
    let end = start.checked_add(length)?;
    (length > 0 && !name.is_empty()).then_some((start, end, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_name_of_the_function_around_it() {
        let map = PerfMap::parse("1000 20 LazyCompile:*work /a b.js:1\n0x1020 10 RegExp:x\n");
        assert_eq!(map.name(0x1000), Some("LazyCompile:*work /a b.js:1"));
        assert_eq!(map.name(0x101f), Some("LazyCompile:*work /a b.js:1"));
        assert_eq!(map.name(0x1020), Some("RegExp:x"));
        assert_eq!((map.name(0xfff), map.name(0x1030)), (None, None));
    }

    #[test]
    fn code_that_took_the_place_of_other_code_counts() {
        let map = PerfMap::parse("1000 100 old\n1100 100 next\n1080 100 new\n");
        assert_eq!((map.name(0x1010), map.name(0x1190)), (None, None));
        assert_eq!((map.name(0x1080), map.name(0x117f)), (Some("new"), Some("new")));
    }

    #[test]
    fn broken_lines_are_passed_over() {
        let text = "\nxyz 10 a\n10\n10 zz b\n10 0 none\nffffffffffffffff 2 over\n20 10 \n40 1 c\n";
        assert_eq!(PerfMap::parse(text).functions.len(), 1);
    }
}
