#!/bin/sh
# The guest's disk is mounted beside the cloud image, and its program becomes the guest's service.
modprobe -a virtio_console virtio_rng
mkdir -p /guest
mount -t ext4 /dev/vdb /guest || exit 1
if [ -x /guest/program.d/loader ]; then
    exec /guest/program.d/loader --library-path /guest/program.d /guest/program vm-agent
fi
exec /guest/program vm-agent
