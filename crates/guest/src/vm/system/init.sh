#!/busybox sh
# The modules that lead to the disk of the system, then the system itself.
/busybox mount -t devtmpfs dev /dev
for module in /modules/*; do
    /busybox insmod "$module"
done
/busybox mount -t ext4 -o ro /dev/vda /root || echo "the disk of the system cannot be mounted"
/busybox mount --move /dev /root/dev
exec /busybox switch_root /root /sbin/init
