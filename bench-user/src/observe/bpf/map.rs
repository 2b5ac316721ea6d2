//! Maps of the object, read by their name.

use aya::maps::{Map, MapData, MapError, PerCpuArray, PerCpuHashMap, PerCpuValues};
use aya::{Ebpf, Pod};

/// What `with` reads of a map.
///
/// # Errors
/// When the object has no such map, or the kernel refuses to read it.
pub(super) fn read<'e, T>(
    ebpf: &'e Ebpf,
    name: &str,
    with: impl FnOnce(&'e Map) -> Result<T, MapError>,
) -> Result<T, String> {
    let map = ebpf.map(name).ok_or_else(|| format!("the object has no map {name}"))?;
    with(map).map_err(|e| format!("map {name} cannot be read: {e}"))
}

/// The value of a per-CPU array of one, for every CPU.
///
/// # Errors
/// As [`read`].
pub(super) fn per_cpu<V: Pod>(ebpf: &Ebpf, name: &str) -> Result<PerCpuValues<V>, String> {
    read(ebpf, name, |map| PerCpuArray::try_from(map)?.get(&0, 0))
}

/// A per-CPU hash, each value summed over the CPUs.
///
/// # Errors
/// As [`read`].
pub(super) fn sums<K: Pod, V: Pod, C: FromIterator<(K, V)>>(
    ebpf: &Ebpf,
    name: &str,
    add: impl Fn(&mut V, &V),
) -> Result<C, String> {
    read(ebpf, name, |map| {
        let map: PerCpuHashMap<&MapData, K, V> = PerCpuHashMap::try_from(map)?;
        let sum = |(key, cpus): (K, PerCpuValues<V>)| Some((key, sum(&cpus, &add)?));
        map.iter().filter_map(|item| item.map(sum).transpose()).collect()
    })
}

/// The values of several CPUs as one; `None` of none.
pub(super) fn sum<V: Copy>(cpus: &[V], add: impl Fn(&mut V, &V)) -> Option<V> {
    let (first, others) = cpus.split_first()?;
    let mut sum = *first;
    for cpu in others {
        add(&mut sum, cpu);
    }
    Some(sum)
}
