#!/bin/sh
# Links libheadwater.so and libheadwater.a from the static library that Cargo has built.
#
#   link.sh RUST_LIBRARY DIRECTORY SONAME VERSION
#
# In the Rust code the library's `read` is named hw_c_read, because the code also calls the C library's `read`. This script renames
# hw_c_read to `read`, and the Rust code's own calls of `read` to hw_own_read (src/own.rs). So the library never calls itself. All
# other names of the Rust code become local.
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

# The bitcode of the Rust standard library is left out, because some binutils fail on it.
$ld -r --whole-archive "$rust" -o "$work/whole.o"
# Its code that runs at the start of every program is left out too: it stores the arguments, which the library does not use.
$objcopy -R .init_array.00099 -R .rela.init_array.00099 -g -R .llvmbc -R .llvmcmd -R .llvm_addrsig "$work/whole.o" "$work/all.o"
# A panic prints nothing (src/errno.rs). So the function that prints a stack is replaced by one that does nothing and succeeds. The
# linker then leaves out the code that finds the names of functions, which is a tenth of the library. If there is no such function,
# nothing is changed.
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
# If src/own.rs lacks a function that the library calls and interposes, the library would call itself.
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
# This binds the renamed calls to the renamed functions.
$ld -r "$work/named.o" -o "$work/bound.o"
$objcopy --keep-global-symbols="$work/kept" "$work/bound.o" "$work/library.o"

# A program's reference to the C library's `read` has a version, and a `read` without a version satisfies it. The names that only
# this library has get a version of their own.
{ echo "HEADWATER_1.0 {"; echo "    global:"; sed 's/.*/        &;/' "$work/public"; echo "};"; } >"$work/map"
mkdir -p "$to"
# Where the linker and the C library can pack relocations, a program has fewer words to relocate when it starts.
packed=
if echo 'int place; int *pointer = &place;' | $cc -x c -fPIC -shared -Wl,-z,pack-relative-relocs -Werror -o "$work/packed.so" - 2>/dev/null
then
    packed=-Wl,-z,pack-relative-relocs
fi
# The compiler's own start and end functions are left out: the library is never unloaded, so they would only touch pages. One of
# their names is used: its address stands for the library.
echo 'extern const char __dso_handle __attribute__((visibility("hidden"))); const char __dso_handle = 0;' |
    $cc -x c -fPIC -c -o "$work/handle.o" -
$cc -shared -nostartfiles -o "$work/lib.so" "$work/library.o" "$work/handle.o" -Wl,-soname,"$soname" -Wl,--version-script="$work/map" \
    -Wl,--undefined-version -Wl,--gc-sections -Wl,-O1 -Wl,-z,nodelete $packed -Wl,-z,relro -Wl,-z,now -Wl,-z,defs \
    -static-libgcc -Wl,--as-needed -lgcc_eh -lgcc -lutil -lrt -lpthread -lm -ldl -lc
rm -f "$work/lib.a"
# The symbols are weak, because a program that is linked with the static library may have functions with names of the DDI/DKI.
$objcopy --weaken-symbols="$here/ddi.symbols" "$work/library.o" "$work/static.o"
$ar crs "$work/lib.a" "$work/static.o"
mv -f "$work/lib.so" "$made"
mv -f "$work/lib.a" "$to/libheadwater.a"
ln -sf "libheadwater.so.$version" "$to/$soname"
ln -sf "$soname" "$to/libheadwater.so"
