//! What the probes keep of threads: the hash of those alive and the ring of those that ended.

use std::collections::BTreeMap;

use aya::maps::{HashMap, MapData, MapError, RingBuf};
use bench_ebpf::abi::{EndedThread, ThreadEntry, ThreadKey, maps, tasks, value_of};

use super::tasks::{Task, read};
use super::{BpfObserver, map};

/// What the probes keep of one thread.
pub(in crate::observe) type Entry = (ThreadKey, ThreadEntry);

type Threads<T> = HashMap<T, ThreadKey, ThreadEntry>;

impl BpfObserver {
    /// Whether [`Self::tasks`] can be had.
    pub(in crate::observe) fn has_tasks(&self) -> bool {
        self.tasks.value().is_some()
    }

    /// Every thread of the target as it stands.
    ///
    /// # Errors
    /// When the kernel refuses to read the iterator.
    pub(in crate::observe) fn tasks(&mut self) -> Result<Vec<Task>, String> {
        self.tasks.as_result()?;
        read(&mut self.ebpf)
    }

    /// Threads that ended since this was asked before; each is given once.
    ///
    /// # Errors
    /// When the kernel refuses to read a map.
    pub(in crate::observe) fn take_ended(&mut self) -> Result<Vec<Entry>, String> {
        self.sched.as_result()?;
        let map = self.ebpf.map_mut(tasks::maps::ENDED).ok_or("the object has no ring")?;
        let mut ring = RingBuf::try_from(map).map_err(|e| e.to_string())?;
        let mut ended = Vec::new();
        while let Some(item) = ring.next() {
            let thread: EndedThread = value_of(&item).ok_or("the ring holds another form")?;
            ended.push((thread.key, thread.entry));
        }
        // Read before the hash: what is counted here is there by then.
        let in_hash = self.sched()?.ended_in_hash;
        if in_hash != self.ended_in_hash {
            let left: Vec<_> = self.walk()?.into_iter().filter(|(_, e)| e.ended != 0).collect();
            self.forget(left.iter().map(|(key, _)| key))?;
            self.ended_in_hash = in_hash;
            ended.extend(left);
        }
        Ok(ended)
    }

    /// Every thread in the hash that has not ended, two system calls for each.
    ///
    /// # Errors
    /// As [`Self::take_ended`].
    pub(in crate::observe) fn live_entries(&self) -> Result<Vec<Entry>, String> {
        Ok(self.walk()?.into_iter().filter(|(_, entry)| entry.ended == 0).collect())
    }

    /// Those of these threads that are in the hash and have not ended.
    ///
    /// # Errors
    /// As [`Self::take_ended`].
    pub(in crate::observe) fn look_up(&self, keys: &[ThreadKey]) -> Result<Vec<Entry>, String> {
        let map = self.thread_map()?;
        let mut found = Vec::new();
        for key in keys {
            match map.get(key, 0) {
                Ok(entry) if entry.ended == 0 => found.push((*key, entry)),
                Ok(_) | Err(MapError::KeyNotFound) => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(found)
    }

    /// Takes threads out of the hash.
    ///
    /// # Errors
    /// As [`Self::take_ended`]; a thread that is no longer there is none.
    pub(in crate::observe) fn forget<'a>(
        &mut self,
        threads: impl Iterator<Item = &'a ThreadKey>,
    ) -> Result<(), String> {
        let map = self.ebpf.map_mut(maps::THREADS).ok_or("the object has no map of threads")?;
        let mut map: Threads<_> = HashMap::try_from(map).map_err(|e| e.to_string())?;
        for key in threads {
            match map.remove(key) {
                Ok(()) | Err(MapError::KeyNotFound) => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(())
    }

    fn thread_map(&self) -> Result<Threads<&MapData>, String> {
        map::read(&self.ebpf, maps::THREADS, HashMap::try_from)
    }

    /// All of the hash. The kernel begins anew where the last key that it gave has been taken
    /// out meanwhile, so a thread may come twice; and a target whose threads end faster than
    /// they can be read would never come to an end.
    fn walk(&self) -> Result<Vec<Entry>, String> {
        let map = self.thread_map()?;
        let mut threads = BTreeMap::new();
        for item in map.iter().take(WALK) {
            let (key, mut entry) = item.map_err(|e| e.to_string())?;
            if entry.ended != 0 {
                // The copy may have begun before the end was written.
                match map.get(&key, 0) {
                    Ok(whole) => entry = whole,
                    Err(MapError::KeyNotFound) => continue,
                    Err(e) => return Err(e.to_string()),
                }
            }
            threads.insert(key, entry);
        }
        Ok(threads.into_iter().collect())
    }
}

/// Steps of a walk, four times what the largest hash holds.
const WALK: usize = 1 << 22;
