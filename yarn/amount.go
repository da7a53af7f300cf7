package yarn

import (
	"strconv"
	"strings"

	"rmd/internal/thousands"
)

// How people read amounts, in every text, table and page. Programs get the numbers themselves.

const (
	mebibytesPerGiB = 1 << 10
	mebibytesPerTiB = 1 << 20
	// separator stands between the kinds of one amount.
	separator = " · "
)

// FormatMemory writes an amount of memory, given in MiB: "512 MiB", "4.8 GiB", "1.5 TiB". It writes GiB
// from 1 GiB on, and TiB where that takes three decimals at most. It never drops a MiB, so two amounts
// that differ never read alike.
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

// inUnit writes a quotient with up to four decimals, which tell parts of 1024 apart.
func inUnit(n, unit int64) string {
	const parts = 10_000
	rounded := (n%unit*parts + unit/2) / unit
	whole := n/unit + rounded/parts
	digits := strconv.FormatInt(parts+rounded%parts, 10)[1:]
	return strings.TrimRight(strings.TrimRight(thousands.Format(whole)+"."+digits, "0"), ".")
}

// FormatKind writes an amount of one kind of resource: "320 GiB", "88 vc", "8 gpu".
func FormatKind(kind string, n int64) string {
	switch kind {
	case MemoryName:
		return FormatMemory(n)
	case VCoresName:
		return thousands.Format(n) + " vc"
	}
	return thousands.Format(n) + " " + ShortKind(kind)
}

// ShortKind is the name of a kind without the domain before it: gpu for yarn.io/gpu.
func ShortKind(kind string) string { return kind[strings.LastIndexByte(kind, '/')+1:] }

// Format writes a resource with the cluster's names: "320 GiB · 88 vc · 8 gpu". Memory and vcores
// always show, further kinds when there is some of them.
func (k Kinds) Format(r Resource) string { return FormatAmounts(k, func(i int) int64 { return r[i] }) }

// FormatAmounts writes the amounts of several kinds, of which the first two are memory and vcores.
func FormatAmounts(kinds []string, amount func(i int) int64) string {
	parts := make([]string, 0, len(kinds))
	for i, kind := range kinds {
		if n := amount(i); n != 0 || i <= VCores {
			parts = append(parts, FormatKind(kind, n))
		}
	}
	return strings.Join(parts, separator)
}
