#!/bin/sh
# Makes libheadwater.so and libheadwater.a of the static library that Cargo has built.
#
#   link.sh RUST_LIBRARY DIRECTORY SONAME VERSION
#
# In the Rust code the library's `read` is called hw_c_read, because the code also calls the C library's. Here hw_c_read becomes
# `read`, and the Rust code's own calls of `read` become calls of hw_own_read (src/own.rs), so that the library never calls
# itself. All other names of the Rust code become local.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rust=$1 to=$2 soname=$3 version=$4
cc=${CC:-cc} ld=${LD:-ld} objcopy=${OBJCOPY:-objcopy} nm=${NM:-nm} ar=${AR:-ar} readelf=${READELF:-readelf}
made=$to/libheadwater.so.$version
if [ -e "$made" ] && [ -z "$(find "$rust" "$here/link.sh" "$here/exports" "$here"/*.symbols -newer "$made" 2>/dev/null)" ]; then
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Without the bitcode of the Rust standard library, at which some binutils fail.
$ld -r --whole-archive "$rust" -o "$work/whole.o"
# Nor with what it does at the start of every program: it notes the arguments, which the library does not ask for.
$objcopy -R .init_array.00099 -R .rela.init_array.00099 -g -R .llvmbc -R .llvmcmd -R .llvm_addrsig "$work/whole.o" "$work/all.o"
# A panic prints nothing (src/errno.rs). So the function that prints a stack is one that does nothing and succeeds, and the linker leaves
# out what it has called: a tenth of the library, which finds the names of functions. Without that function nothing is changed.
printing=$($readelf -SW "$work/all.o" | sed -n 's/.* \(\.text\.[^ ]*BacktraceLock[^ ]*DisplayBacktrace[^ ]*3fmt[^ ]*\) .*/\1/p' | head -1)
if [ -n "$printing" ]; then
    echo 'int succeed(void) { return 0; }' | $cc -x c -O2 -c -o "$work/succeed.o" -
    $objcopy -O binary --only-section=.text "$work/succeed.o" "$work/succeed"
    $objcopy --dump-section "$printing=$work/printing" "$work/all.o" "$work/ignored.o"
    dd if="$work/succeed" of="$work/printing" conv=notrunc status=none
    $objcopy --remove-relocations="$printing" --update-section "$printing=$work/printing" "$work/all.o"
fi
$nm "$work/all.o" | awk '$2 ~ /^[TW]$/ && $3 ~ /^hw_c_/ { print substr($3, 6) }' | sort -u >"$work/interposed"
$nm "$work/all.o" | awk '$2 ~ /^[TW]$/ && $3 ~ /^hw_own_/ { print substr($3, 8) }' | sort -u >"$work/own"
$nm -u "$work/all.o" | awk '{ print $NF }' | sort -u >"$work/called"
# A call of an interposed function for which src/own.rs has none would be a call of ourselves.
comm -12 "$work/own" "$work/called" >"$work/replaced"
missing=$(comm -12 "$work/interposed" "$work/called" | comm -23 - "$work/own")
if [ -n "$missing" ]; then
    echo "link.sh: the library calls functions that it interposes; src/own.rs lacks hw_own_ functions for:" $missing >&2
    exit 1
fi
{
    sed 's/.*/& hw_own_&/' "$work/replaced"
    sed 's/.*/hw_c_& &/' "$work/interposed"
} >"$work/renamed"
cat "$here/exports" $(ls "$here/ddi.symbols" 2>/dev/null) | sed 's/#.*//; /^ *$/d' | sort -u >"$work/public"
sort -u "$work/public" "$work/interposed" >"$work/kept"
$objcopy --redefine-syms="$work/renamed" "$work/all.o" "$work/named.o"
# The renamed calls find the renamed functions.
$ld -r "$work/named.o" -o "$work/bound.o"
$objcopy --keep-global-symbols="$work/kept" "$work/bound.o" "$work/library.o"

# A program's reference to the C library's `read` has a version, and finds a `read` without one; the names that are ours alone
# have a version of their own.
{ echo "HEADWATER_1.0 {"; echo "    global:"; sed 's/.*/        &;/' "$work/public"; echo "};"; } >"$work/map"
mkdir -p "$to"
# Fewer words to relocate when a program starts, where the linker and the C library know how.
packed=
if echo 'int place; int *pointer = &place;' | $cc -x c -fPIC -shared -Wl,-z,pack-relative-relocs -Werror -o "$work/packed.so" - 2>/dev/null
then
    packed=-Wl,-z,pack-relative-relocs
fi
# Without the compiler's own functions of start and end, which do nothing for this library but touch pages: it is never unloaded. Of their
# names one is used, whose address stands for the library.
echo 'extern const char __dso_handle __attribute__((visibility("hidden"))); const char __dso_handle = 0;' |
    $cc -x c -fPIC -c -o "$work/handle.o" -
$cc -shared -nostartfiles -o "$work/lib.so" "$work/library.o" "$work/handle.o" -Wl,-soname,"$soname" -Wl,--version-script="$work/map" \
    -Wl,--undefined-version -Wl,--gc-sections -Wl,-O1 -Wl,-z,nodelete $packed -Wl,-z,relro -Wl,-z,now -Wl,-z,defs \
    -static-libgcc -Wl,--as-needed -lgcc_eh -lgcc -lutil -lrt -lpthread -lm -ldl -lc
rm -f "$work/lib.a"
# A program that is linked with the static library may have functions of the DDI/DKI's names.
$objcopy --weaken-symbols="$here/ddi.symbols" "$work/library.o" "$work/static.o"
$ar crs "$work/lib.a" "$work/static.o"
mv -f "$work/lib.so" "$made"
mv -f "$work/lib.a" "$to/libheadwater.a"
ln -sf "libheadwater.so.$version" "$to/$soname"
ln -sf "$soname" "$to/libheadwater.so"
