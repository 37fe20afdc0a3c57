#!/busybox sh
# The modules that lead to the disk of the system, then the system itself.
/busybox mount -t devtmpfs dev /dev
for module in /modules/*; do
    /busybox insmod "$module"
done
if ! /busybox mount -t ext4 -o ro /dev/vda /root; then
    # The kernel panics when its first process ends.
    echo "the disk of the system cannot be mounted"
    exit 1
fi
/busybox mount --move /dev /root/dev
exec /busybox switch_root /root /sbin/init
