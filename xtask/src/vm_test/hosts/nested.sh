# A container in this container, whose command is given; ends with it.
# The kernel lets a cgroup with processes hand no controllers down, so they go below it first.
mkdir /sys/fs/cgroup/init
xargs -n1 sh -c 'echo $0 >/sys/fs/cgroup/init/cgroup.procs' </sys/fs/cgroup/cgroup.procs
root=/var/inner
for folder in dev etc opt proc run sys tmp usr var; do mkdir -p $root/$folder; done
for link in bin lib lib64 sbin; do ln -s usr/$link $root/$link; done
exec podman --cgroup-manager cgroupfs run --network host --volume /usr:/usr:ro \
    --volume /opt:/opt:ro --rootfs $root "$@"
