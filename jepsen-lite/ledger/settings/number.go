package settings

import (
	"math/big"
	"strings"

	"rmd/yarn"
)

// percent reads a percentage as a share of 1; nil if the text is none.
func percent(text string) *big.Rat {
	share, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "%"))
	if !ok {
		return nil
	}
	return share.Quo(share, big.NewRat(100, 1))
}

// units reads "memory=4096,vcores=4".
func units(text string, kinds yarn.Kinds) (out yarn.Resource) {
	for _, item := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(item, "=")
		kind := kinds.Index(strings.TrimSpace(name))
		if kind < 0 || kind >= yarn.MaxKinds {
			continue
		}
		out[kind] = count(strings.TrimSpace(value))
	}
	return out
}

// scales are the suffixes of amounts. Memory is in MiB.
var scales = []struct {
	suffix string
	by     int64
}{{"Mi", 1}, {"Gi", 1 << 10}, {"Ti", 1 << 20}, {"", 1}}

// count reads an amount; 0 if the text is none.
func count(text string) int64 {
	for _, s := range scales {
		number, ok := strings.CutSuffix(text, s.suffix)
		if !ok {
			continue
		}
		if r, ok := new(big.Rat).SetString(strings.TrimSpace(number)); ok {
			return Floor(r.Mul(r, new(big.Rat).SetInt64(s.by)))
		}
		return 0
	}
	return 0
}

// Floor returns the whole part of a number.
func Floor(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }

// Scaled returns the resource times a number, each kind rounded down.
func Scaled(r yarn.Resource, by *big.Rat) yarn.Resource {
	for k, v := range r {
		r[k] = Floor(new(big.Rat).Mul(by, new(big.Rat).SetInt64(v)))
	}
	return r
}
