#!/bin/sh
# Makes a small cloud image to test with: Debian with cloud-init, booted by GRUB on a PC's firmware. Nothing is mounted.
# Words: the image to be made, a directory to work in. Needs mmdebstrap, e2fsprogs, grub-pc-bin, grub-common and qemu-utils.
set -eu
image=$1
work=$2
tree=$work/tree
raw=$work/raw
if [ ! -d "$tree/boot" ]; then
    unshare --pid --fork --mount-proc --kill-child=SIGKILL -- mmdebstrap --variant=minbase --mode=root --format=directory \
        --include=linux-image-cloud-amd64,initramfs-tools,systemd-sysv,udev,kmod,iproute2,zstd,cloud-init,netbase \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' bookworm "$tree"
fi
rm -rf "$tree/var/cache/apt" "$tree/var/lib/apt/lists" "$tree/etc/resolv.conf"
: > "$tree/etc/machine-id"
echo image > "$tree/etc/hostname"
echo "/dev/vda1 / ext4 defaults 0 1" > "$tree/etc/fstab"
# An image without one of the usual network services: systemd's own is there, and cloud-init writes for it.
mkdir -p "$tree/etc/systemd/system/multi-user.target.wants"
ln -sf /lib/systemd/system/systemd-networkd.service "$tree/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
rm -f "$raw"
truncate -s 1600M "$raw"
# One bootable partition of Linux, from sector 2048 to the end (3274752 sectors).
printf '\200\0\0\0\203\0\0\0\0\010\0\0\0\370\061\0' | dd of="$raw" bs=1 seek=446 conv=notrunc status=none
printf '\125\252' | dd of="$raw" bs=1 seek=510 conv=notrunc status=none
mke2fs -q -F -t ext4 -d "$tree" -E offset=1048576,lazy_itable_init=0,lazy_journal_init=0 "$raw" $((1600 * 1024 - 1024))
cat > "$work/grub.cfg" <<'END'
set root=(hd0,msdos1)
linux /vmlinuz root=/dev/vda1 ro console=ttyS0 no_timer_check panic=-1
initrd /initrd.img
boot
END
grub-mkimage -O i386-pc -c "$work/grub.cfg" -p /boot/grub -o "$work/core.img" biosdisk part_msdos ext2 linux
# The first stage, without touching the table of partitions behind it; then the second, in the gap before the first partition.
dd if=/usr/lib/grub/i386-pc/boot.img of="$raw" bs=440 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$raw" bs=512 seek=1 conv=notrunc status=none
qemu-img convert -q -f raw -O qcow2 "$raw" "$image.part"
mv "$image.part" "$image"
rm -rf "$work"
