package limits

import (
	"testing"

	"rmd/yarn"
)

const gib = 1024

// mem returns a memory size in GiB, for the default calculator.
func mem(g int64) yarn.Resource { return mib(g * gib) }

func mib(m int64) yarn.Resource {
	r := yarn.Resource{yarn.Memory: m}
	if m > 0 {
		r[yarn.VCores] = 1
	}
	return r
}

func fraction(t testing.TB, s string) yarn.Fraction {
	t.Helper()
	f, err := yarn.ParseFraction(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var memoryOnly = yarn.Calculator{Kinds: 2}
