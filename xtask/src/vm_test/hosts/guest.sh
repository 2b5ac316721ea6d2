# The checks, in the emulated machine. What comes of them goes to a serial port of its own, one line
# a fact, and is judged outside: `check NAME` begins one, `exit`, `error` and `record` are the tool's.
exec </dev/null >/dev/ttyS1
stty -F /dev/ttyS1 raw
cd /opt/host-test || exit
tool=$PWD/bench-user
# Long enough for hundreds of requests under emulation, after a warm-up in which every connection
# gets its thread; a stall of its host is no reason to stop.
load='--duration 5s --warmup 2s --no-control --stop-p99 off'
# A root filesystem without files: programs and libraries are the machine's.
share='--network host --volume /usr:/usr:ro --volume /opt:/opt:ro'

server() { echo "$tool serve --address 127.0.0.1:$1"; }

# The process that listens there, as soon as one does.
pid_at() {
    until ss -Hltnp "sport = :$1" | grep -q pid=; do sleep 0.1; done
    ss -Hltnp "sport = :$1" | sed -n 's/.*pid=\([0-9]*\).*/\1/p'
}

cgroup_of() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }

# What the command says as data, what it says else, and how it ends.
told() {
    "$@" >output 2>errors
    echo "exit $?"
    sed 's/^/error /' errors
    echo "record $(tr -d '\n' <output)"
}

# PORT CONNECTIONS and how the target is named.
measure() {
    port=$1 connections=$2
    shift 2
    told $tool run --quiet --json $load --connections "$connections" \
        --url "http://127.0.0.1:$port/" "$@"
}

unit() {
    systemd-run --quiet --unit lean $(server 8101)
    echo "cgroup $(cgroup_of "$(pid_at 8101)")"
    measure 8101 2 --unit lean
    systemctl stop lean
}

quota() {
    systemd-run --quiet --scope --unit quota -p CPUQuota=50% $(server 8102) >/dev/null &
    pid=$(pid_at 8102)
    echo "cgroup $(cgroup_of "$pid")"
    # More connections, so that half a CPU is used up.
    measure 8102 4 --pid "$pid"
    kill "$pid"
}

podman_container() {
    echo "id $(podman run --detach --name pod $share --rootfs "$PWD/skeleton" $(server 8103))"
    echo "cgroup $(cgroup_of "$(pid_at 8103)")"
    # An engine that its socket starts takes longer here than the tool waits for an answer.
    systemctl start docker
    podman --remote info >/dev/null
    measure 8103 2 --container pod
    podman rm --force --time 0 pod >/dev/null
}

docker_container() {
    systemctl start docker
    tar -C skeleton -c . | docker import - skeleton >/dev/null
    echo "id $(docker run --detach --pull never --name dock $share skeleton $(server 8104))"
    echo "driver $(docker info --format '{{.CgroupDriver}}')"
    echo "cgroupns $(docker inspect --format '{{.HostConfig.CgroupnsMode}}' dock)"
    echo "cgroup $(cgroup_of "$(pid_at 8104)")"
    measure 8104 2 --container dock
    docker rm --force dock >/dev/null
}

nested() {
    podman run --detach --privileged --name outer $share --rootfs "$PWD/skeleton" \
        sh "$PWD/nested.sh" $(server 8105) >/dev/null
    echo "outer $(podman inspect --format '{{.State.CgroupPath}}' outer)"
    pid=$(pid_at 8105)
    echo "cgroup $(cgroup_of "$pid")"
    measure 8105 2 --pid "$pid"
    podman rm --force --time 0 outer >/dev/null
}

inside() {
    told podman run --rm --privileged $share --rootfs "$PWD/skeleton" \
        $tool run --quiet --json $load --connections 2 --builtin lean --out /tmp/inside
}

adopted() {
    # In the root of the tree, which is no cgroup of its own.
    sh -c "echo \$\$ >/sys/fs/cgroup/cgroup.procs; exec $(server 8106)" >/dev/null &
    pid=$(pid_at 8106)
    echo "cgroup $(cgroup_of "$pid")"
    measure 8106 2 --pid "$pid" --adopt
    echo "after $(cgroup_of "$pid")"
    kill "$pid"
}

# Made again where a nap of its own was over before it began, as on an emulator that is held up.
doctor() {
    for _ in 1 2 3; do
        told $tool doctor --json >answer
        grep -q '^exit 0' answer && break
    done
    cat answer
}

echo "machine Linux $(uname -r), $(systemctl --version | head -n 1 | cut -d' ' -f1,2)"
for folder in dev etc opt proc run sys tmp usr var; do mkdir -p skeleton/$folder; done
for link in bin lib lib64 sbin; do ln -s usr/$link skeleton/$link; done
for check in unit quota podman_container docker_container nested inside adopted doctor; do
    echo "check $check"
    $check 2>&1
    echo "done at $(cut -d' ' -f1 /proc/uptime)"
done
