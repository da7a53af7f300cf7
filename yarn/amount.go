package yarn

import (
	"fmt"
	"strings"

	"rmd/internal/thousands"
)

// This file formats amounts for people, in texts, tables and pages. Programs get the numbers.

const (
	mebibytesPerGiB = 1 << 10
	// separator separates the kinds of one amount.
	separator = " · "
)

// FormatMemory formats an amount of memory in MiB: "0.5 GiB", "153.6 GiB", "1,536 GiB". The unit is
// always GiB, so the amounts of a column or a sentence can be compared. The text has the fewest
// decimals that make the same number of MiB again, rounded down as in the keys of queues. So different
// amounts have different texts, and a fifth of 1,536 GiB, 314,572 MiB, is 307.2 GiB.
func FormatMemory(mebibytes int64) string {
	if mebibytes < 0 {
		return "-" + FormatMemory(-mebibytes)
	}
	whole, rest := mebibytes/mebibytesPerGiB, mebibytes%mebibytesPerGiB
	for digits, scale := 0, int64(1); ; digits, scale = digits+1, scale*10 {
		decimals := (rest*scale + mebibytesPerGiB - 1) / mebibytesPerGiB
		if decimals < scale && decimals*mebibytesPerGiB/scale == rest {
			return thousands.Format(whole) + fmt.Sprintf(".%0*d", digits, decimals)[:digits+min(digits, 1)] + " GiB"
		}
	}
}

// FormatKind formats an amount of one resource kind: "320 GiB", "88 vc", "8 gpu".
func FormatKind(kind string, n int64) string {
	switch kind {
	case MemoryName:
		return FormatMemory(n)
	case VCoresName:
		return thousands.Format(n) + " vc"
	}
	return thousands.Format(n) + " " + ShortKind(kind)
}

// ShortKind returns the name of a kind without its domain: "gpu" for "yarn.io/gpu".
func ShortKind(kind string) string { return kind[strings.LastIndexByte(kind, '/')+1:] }

// Format formats a resource with the cluster's names: "320 GiB · 88 vc · 8 gpu". It omits kinds
// other than memory and vcores whose amount is zero.
func (k Kinds) Format(r Resource) string { return FormatAmounts(k, func(i int) int64 { return r[i] }) }

// FormatAmounts formats the amounts of several kinds. The first two are memory and vcores.
func FormatAmounts(kinds []string, amount func(i int) int64) string {
	parts := make([]string, 0, len(kinds))
	for i, kind := range kinds {
		if n := amount(i); n != 0 || i <= VCores {
			parts = append(parts, FormatKind(kind, n))
		}
	}
	return strings.Join(parts, separator)
}
