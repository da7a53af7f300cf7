package yarn

import (
	"strconv"
	"strings"

	"rmd/internal/thousands"
)

// This file formats amounts for people, in texts, tables and pages. Programs get the numbers.

const (
	mebibytesPerGiB = 1 << 10
	mebibytesPerTiB = 1 << 20
	// separator separates the kinds of one amount.
	separator = " · "
)

// FormatMemory formats an amount of memory in MiB: "512 MiB", "4.8 GiB", "1.5 TiB". It uses GiB
// from 1 GiB on, and TiB if that needs at most three decimals. Different amounts give different
// texts.
func FormatMemory(mebibytes int64) string {
	switch {
	case mebibytes < 0:
		return "-" + FormatMemory(-mebibytes)
	case mebibytes >= mebibytesPerTiB && mebibytes*1000%mebibytesPerTiB == 0:
		return inUnit(mebibytes, mebibytesPerTiB) + " TiB"
	case mebibytes >= mebibytesPerGiB || mebibytes == 0:
		return inUnit(mebibytes, mebibytesPerGiB) + " GiB"
	}
	return thousands.Format(mebibytes) + " MiB"
}

// inUnit formats n/unit with up to four decimals, which are enough to distinguish 1024ths.
func inUnit(n, unit int64) string {
	const parts = 10_000
	rounded := (n%unit*parts + unit/2) / unit
	whole := n/unit + rounded/parts
	digits := strconv.FormatInt(parts+rounded%parts, 10)[1:]
	return strings.TrimRight(strings.TrimRight(thousands.Format(whole)+"."+digits, "0"), ".")
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
