#!/usr/bin/env bash
# Builds Cheddar and `cheddar_bench` for one architecture: `build.sh SOURCE OUT [ARCH]`, SOURCE a
# checkout of github.com/scale-snu/cheddar-fhe, NVCC the compiler (CUDA 12 or 13).
#
# Needs GMP and nlohmann-json (Debian: libgmp-dev, nlohmann-json3-dev). RMM is replaced by the
# headers in rmm/, which do what Cheddar asks of it. Everything is linked statically but the driver.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
mkdir -p "$2" && out=$(cd "$2" && pwd)
arch=${3:-sm_90}
nvcc=${NVCC:-nvcc}
flags=(-std=c++17 -O3 "-arch=$arch" -DENABLE_EXTENSION -DUSE_GMP -I"$source/include" -I"$here"
       ${NVCC_FLAGS:-})
sources=()
for file in "$source"/src/*.cu "$source"/src/core/*.c* "$source"/src/extension/*.c*; do
    [[ $file == */BigInt_tommath.cpp ]] || sources+=("$file")
done
objects=()
for file in "${sources[@]}" "$here/bench.cpp"; do
    object=$out/$(basename "$file").o
    objects+=("$object")
    if [[ ! $object -nt $file ]]; then
        echo "$file"
        "$nvcc" -x cu "${flags[@]}" -c "$file" -o "$object"
    fi
done
gmp=$(ls /usr/lib/*/libgmp.a | head -1)
"$nvcc" "-arch=$arch" ${NVCC_FLAGS:-} "${objects[@]}" -cudart static \
    -Xcompiler -static-libstdc++,-static-libgcc "$gmp" -o "$out/cheddar_bench"
cp "$source"/parameters/bootparam_*.json "$out"
