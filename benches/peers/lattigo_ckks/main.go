// Lattigo's CKKS for ../ckks.py: its default bootstrapping set of 13 levels of 2^40, whose
// secrets are like those of girih's CKKS_D40 (dense, encapsulated sparse). One thread.
//
// Prints {"levels": .., "log2_qp": .., "figures": {operation: [milliseconds, worst bits]}}.
package main

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"runtime"
	"sort"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Median milliseconds after one run that warms up, and the last result.
func timed(repeat int, run func() *rlwe.Ciphertext) (float64, *rlwe.Ciphertext) {
	result := run()
	samples := make([]float64, repeat)
	for i := range samples {
		start := time.Now()
		result = run()
		samples[i] = time.Since(start).Seconds() * 1e3
	}
	sort.Float64s(samples)
	return samples[repeat/2], result
}

// Bits of the worst real part.
func bits(p ckks.Parameters, d *rlwe.Decryptor, x *rlwe.Ciphertext, want []float64) float64 {
	have := make([]complex128, len(want))
	must(ckks.NewEncoder(p).Decode(d.DecryptNew(x), have))
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(real(have[i])-want[i]))
	}
	return -math.Log2(worst)
}

func main() {
	repeat := flag.Int("repeat", 5, "products and rotations timed")
	bootstraps := flag.Int("bootstraps", 2, "bootstrappings timed; 0 leaves them out")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	set := bootstrapping.N16QP1767H32768H32
	residual, err := ckks.NewParametersFromLiteral(set.SchemeParams)
	must(err)
	whole, err := bootstrapping.NewParametersFromLiteral(residual, set.BootstrappingParams)
	must(err)
	// Products and rotations at the top of the chain that the bootstrapping runs through.
	p := whole.BootstrappingParameters
	keys := rlwe.NewKeyGenerator(p)
	secret := keys.GenSecretKeyNew()
	galois := p.GaloisElement(1)
	evaluation := rlwe.NewMemEvaluationKeySet(
		keys.GenRelinearizationKeyNew(secret), keys.GenGaloisKeyNew(galois, secret))
	evaluator := ckks.NewEvaluator(p, evaluation)
	decryptor := rlwe.NewDecryptor(p, secret)

	slots := p.MaxSlots()
	values, squares, turned := make([]float64, slots), make([]float64, slots), make([]float64, slots)
	for i := range values {
		values[i] = math.Sin(1 + 3.7*float64(i))
	}
	for i := range values {
		squares[i], turned[i] = values[i]*values[i], values[(i+1)%slots]
	}
	encrypt := func(
		p ckks.Parameters, secret *rlwe.SecretKey, level int, scale rlwe.Scale,
	) *rlwe.Ciphertext {
		plain := ckks.NewPlaintext(p, level)
		plain.Scale = scale
		must(ckks.NewEncoder(p).Encode(values, plain))
		x, err := rlwe.NewEncryptor(p, secret).EncryptNew(plain)
		must(err)
		return x
	}
	figures := map[string][2]float64{}

	// The primes at the top are wider than the default scale: with the top prime as scale, a product
	// rescales to the scale it had.
	x := encrypt(p, secret, p.MaxLevel(), rlwe.NewScale(p.Q()[p.MaxLevel()]))
	ms, product := timed(*repeat, func() *rlwe.Ciphertext {
		product, err := evaluator.MulRelinNew(x, x)
		must(err)
		must(evaluator.Rescale(product, product))
		return product
	})
	figures["multiply"] = [2]float64{ms, bits(p, decryptor, product, squares)}
	ms, rotated := timed(*repeat, func() *rlwe.Ciphertext {
		rotated, err := evaluator.RotateNew(x, 1)
		must(err)
		return rotated
	})
	figures["rotate"] = [2]float64{ms, bits(p, decryptor, rotated, turned)}

	if *bootstraps > 0 {
		secret := rlwe.NewKeyGenerator(residual).GenSecretKeyNew()
		evaluation, _, err := whole.GenEvaluationKeys(secret)
		must(err)
		bootstrapper, err := bootstrapping.NewEvaluator(whole, evaluation)
		must(err)
		x := encrypt(residual, secret, 0, residual.DefaultScale())
		ms, high := timed(*bootstraps, func() *rlwe.Ciphertext {
			high, err := bootstrapper.Bootstrap(x.CopyNew())
			must(err)
			return high
		})
		decryptor := rlwe.NewDecryptor(residual, secret)
		figures["bootstrap"] = [2]float64{ms, bits(residual, decryptor, high, values)}
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"levels":  residual.MaxLevel(),
		"log2_qp": p.LogQP(),
		"figures": figures,
	}))
}
