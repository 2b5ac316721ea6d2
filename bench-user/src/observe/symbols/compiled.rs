//! Functions that a run-time compiler says it made, in either of the two forms that profilers read:
//!
//! * a perf map, `/tmp/perf-PID.map`: start, length and name in each line, the numbers in base 16
//!   (the kernel's tools/perf/Documentation/jit-interface.txt);
//! * a jitdump, which the process maps as code so that it is found: binary records of code loaded
//!   and moved (tools/perf/Documentation/jitdump-specification.txt).
//!
//! Both are in order of time: where code took the place of other code, the later counts.

use std::collections::BTreeMap;

/// First bytes of a jitdump of a machine of this byte order.
const MAGIC: u32 = 0x4a69_5444;

/// Bytes before the id, the length and the time of a record.
const RECORD: usize = 16;

/// Functions by their first address.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    functions: BTreeMap<u64, (u64, String)>,
}

impl Compiled {
    /// Adds those of a perf map. What is no such line is passed over.
    pub(super) fn add_perf_map(&mut self, text: &str) {
        for (start, length, name) in text.lines().filter_map(line) {
            self.add(start, length, name);
        }
    }

    /// Adds those of a jitdump, as far as it is written.
    pub(super) fn add_jit_dump(&mut self, bytes: &[u8]) {
        let header = word(bytes, 8).and_then(|length| usize::try_from(length).ok());
        let (Some(MAGIC), Some(header)) = (word(bytes, 0), header) else { return };
        let mut rest = bytes.get(header..).unwrap_or_default();
        while let (Some(id), Some(length)) = (word(rest, 0), word(rest, 4)) {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let Some(body) = rest.get(RECORD..length) else { return };
            match id {
                0 => self.load(body),
                1 => self.shift(body),
                _ => {}
            }
            rest = &rest[length..];
        }
    }

    /// The function that holds this address.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }

    /// `JIT_CODE_LOAD`: process, thread, address at run time and in the file, size, index, name.
    fn load(&mut self, body: &[u8]) {
        let (Some(start), Some(length)) = (long(body, 16), long(body, 24)) else { return };
        let name = body.get(40..).unwrap_or_default().split(|byte| *byte == 0).next();
        self.add(start, length, &String::from_utf8_lossy(name.unwrap_or_default()));
    }

    /// `JIT_CODE_MOVE`: process, thread, address at run time, old and new address, size, index.
    fn shift(&mut self, body: &[u8]) {
        let (Some(from), Some(to), Some(length)) = (long(body, 16), long(body, 24), long(body, 32))
        else {
            return;
        };
        if let Some((_end, name)) = self.functions.remove(&from) {
            self.add(to, length, &name);
        }
    }

    fn add(&mut self, start: u64, length: u64, name: &str) {
        let name = name.trim();
        let Some(end) = start.checked_add(length).filter(|_| length > 0 && !name.is_empty()) else {
            return;
        };
        self.drop_overlapping(start, end);
        self.functions.insert(start, (end, name.to_owned()));
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

fn line(line: &str) -> Option<(u64, u64, &str)> {
    let mut parts = line.splitn(3, ' ');
    let mut number = || u64::from_str_radix(parts.next()?.trim_start_matches("0x"), 16).ok();
    let (start, length) = (number()?, number()?);
    Some((start, length, parts.next()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn perf_map(text: &str) -> Compiled {
        let mut compiled = Compiled::default();
        compiled.add_perf_map(text);
        compiled
    }

    fn record(id: u32, fields: &[u64], name: &str) -> Vec<u8> {
        let mut body = vec![0; 8];
        fields.iter().for_each(|field| body.extend(field.to_ne_bytes()));
        body.extend(name.as_bytes());
        let length = u32::try_from(RECORD + body.len()).unwrap();
        [&id.to_ne_bytes()[..], &length.to_ne_bytes(), &[0; 8], &body].concat()
    }

    #[test]
    fn an_address_has_the_name_of_the_function_around_it() {
        let map = perf_map("1000 20 LazyCompile:*work /a b.js:1\n0x1020 10 RegExp:x\n");
        assert_eq!(map.name(0x1000), Some("LazyCompile:*work /a b.js:1"));
        assert_eq!(map.name(0x101f), Some("LazyCompile:*work /a b.js:1"));
        assert_eq!(map.name(0x1020), Some("RegExp:x"));
        assert_eq!((map.name(0xfff), map.name(0x1030)), (None, None));
    }

    #[test]
    fn code_that_took_the_place_of_other_code_counts() {
        let map = perf_map("1000 100 old\n1100 100 next\n1080 100 new\n");
        assert_eq!((map.name(0x1010), map.name(0x1190)), (None, None));
        assert_eq!((map.name(0x1080), map.name(0x117f)), (Some("new"), Some("new")));
    }

    #[test]
    fn broken_lines_are_passed_over() {
        let text = "\nxyz 10 a\n10\n10 zz b\n10 0 none\nffffffffffffffff 2 over\n20 10 \n40 1 c\n";
        assert_eq!(perf_map(text).functions.len(), 1);
    }

    #[test]
    fn a_dump_is_read_as_far_as_it_is_written() {
        let header = [MAGIC, 1, 40, 62, 0, 7, 0, 0, 0, 0].map(u32::to_ne_bytes).concat();
        let load = |at, name| record(0, &[at, at, 0x10, 1], name);
        let mut dump = [
            header,
            load(0x1000, "work\0code"),
            load(0x2000, "moved\0code"),
            record(9, &[1], ""),
            record(1, &[0x2000, 0x2000, 0x3000, 0x10, 2], ""),
        ]
        .concat();
        dump.extend(&load(0x4000, "cut off\0code")[..30]);
        let mut compiled = Compiled::default();
        compiled.add_jit_dump(&dump);
        assert_eq!((compiled.name(0x100f), compiled.name(0x1010)), (Some("work"), None));
        assert_eq!((compiled.name(0x2000), compiled.name(0x3000)), (None, Some("moved")));
        assert_eq!(compiled.functions.len(), 2);
    }

    #[test]
    fn what_is_no_dump_holds_nothing() {
        let mut compiled = Compiled::default();
        for bytes in [&b""[..], b"DTiJ", &[0; 64], &[0xff; 64]] {
            compiled.add_jit_dump(bytes);
        }
        assert!(compiled.functions.is_empty());
    }
}
