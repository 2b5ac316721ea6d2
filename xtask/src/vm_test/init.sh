#!/bin/busybox sh
# First process of the emulated machine: readies it as a systemd of a pure cgroup v2 host would, runs
# the tests given on the kernel's command line after `--` (all of them without), and switches it off.
/bin/busybox mkdir -p /proc /sys /dev /tmp /root /run /usr/bin
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
done
ifconfig lo 127.0.0.1 up
# systemd gives every service these limits.
ulimit -Hn 524288
ulimit -Sn 1024
# What is written beside the results goes to the console.
exec </dev/null >/dev/ttyS1
stty -F /dev/ttyS1 raw
# The tests leave more room for time that passes under emulation.
export BENCH_TEST_ROOM=10
echo "kernel $(uname -r)"
cd /root
/bin/bench-user doctor
/bin/privileged --color never "$@"
echo "exit $?"
sync
poweroff -f
