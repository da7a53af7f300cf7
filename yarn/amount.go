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

// FormatMemory formats an amount of memory in MiB: "512 MiB", "4.5 GiB", "1.5 TiB". It uses the
// largest unit in which the amount has at most three decimals, so the text is exact: 15000 MiB are
// "15,000 MiB" and not about 14.6 GiB. Flags and keys of queues take MiB.
func FormatMemory(mebibytes int64) string {
	if mebibytes < 0 {
		return "-" + FormatMemory(-mebibytes)
	}
	for _, u := range []struct {
		name string
		size int64
	}{{" TiB", mebibytesPerTiB}, {" GiB", mebibytesPerGiB}} {
		if mebibytes >= u.size && mebibytes%u.size*1000%u.size == 0 {
			decimals := strconv.FormatInt(1000+mebibytes%u.size*1000/u.size, 10)[1:]
			return strings.TrimRight(strings.TrimRight(thousands.Format(mebibytes/u.size)+"."+decimals, "0"), ".") + u.name
		}
	}
	if mebibytes == 0 {
		return "0 GiB"
	}
	return thousands.Format(mebibytes) + " MiB"
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
