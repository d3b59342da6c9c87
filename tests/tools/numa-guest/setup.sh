#!/bin/sh
# Makes the emulated machine's kernel and initial file system in a folder (the one argument) from Debian's packages. It
# downloads about 71 MB, once. Needs apt's package lists and python3.
set -eu
folder=$1
[ -e "$folder/complete" ] && exit 0
mkdir -p "$folder/packages"
cd "$folder/packages"
kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
[ -n "$kernel" ] || { echo "numa-guest: apt knows no linux-image-amd64; run apt-get update" >&2; exit 1; }
apt-get download "$kernel" busybox-static > /dev/null
for package in *.deb; do dpkg -x "$package" tree; done

# Takes the payload out of bzImage, because qemu starts an unpacked kernel sooner than a kernel that unpacks itself. (Linux's
# Documentation/arch/x86/boot.rst: setup_sects at 0x1f1, payload_offset and payload_length at 0x248.)
python3 - tree/boot/vmlinuz-* ../vmlinux <<'PYTHON'
import lzma, struct, sys
image = open(sys.argv[1], "rb").read()
begin = ((image[0x1f1] or 4) + 1) * 512
offset, length = struct.unpack_from("<II", image, 0x248)
payload = image[begin + offset : begin + offset + length]
open(sys.argv[2], "wb").write(lzma.LZMADecompressor().decompress(payload))
PYTHON

root=../root
modules="virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci netfs fscache 9pnet 9pnet_virtio 9p overlay"
rm -rf "$root"
mkdir -p "$root/bin" "$root/modules" "$root/dev" "$root/proc" "$root/sys" "$root/lower" "$root/upper" "$root/new"
cp tree/bin/busybox "$root/bin/"
for module in $modules; do cp "$(find tree/lib/modules -name "$module.ko")" "$root/modules/"; done
cat > "$root/init" <<INIT
#!/bin/busybox sh
# Mounts the host's file system read-only under a tmpfs, runs /out/command in it, and leaves its status in /out/status.
modules="$modules"
INIT
cat >> "$root/init" <<'INIT'
for applet in mount stty hostname ifconfig insmod mkdir ln setsid chroot sync sleep; do
  eval "$applet() { /bin/busybox $applet \"\$@\"; }"
done
mount -t devtmpfs devices /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
stty -F /dev/ttyS1 raw -echo; hostname numa-guest; ifconfig lo 127.0.0.1 up
for module in $modules; do insmod /modules/$module.ko; done
nine=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o $nine,ro,cache=loose root /lower; mount -t tmpfs upper /upper; mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /new
for folder in dev proc sys; do mount --bind /$folder /new/$folder; done
mkdir -p /new/dev/pts /new/dev/shm /new/out; mount -t devpts pts /new/dev/pts
mount -t tmpfs -o mode=1777 shm /new/dev/shm; mount -t tmpfs run /new/run; ln -s /proc/self/fd /dev/fd
mount -t 9p -o $nine out /new/out; echo 127.0.0.1 localhost numa-guest > /new/etc/hosts
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
setsid chroot /new /bin/bash /out/command < /dev/null > /dev/ttyS1 2>&1
echo $? > /new/out/status; sync; echo b > /proc/sysrq-trigger; sleep 9
INIT
chmod +x "$root/init"
(cd "$root" && find . | bin/busybox cpio -o -H newc 2> /dev/null) > ../base.cpio
cd ..
rm -rf packages root
touch complete
