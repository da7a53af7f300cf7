package yarn

import (
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

// FormatMemory writes an amount of memory, given in MiB: "512 MiB", "1.5 GiB", "3 TiB". The unit is
// the largest one in which the amount has at most three decimals, so that two amounts that differ
// never read alike.
func FormatMemory(mebibytes int64) string {
	if mebibytes == 0 {
		return "0 GiB"
	}
	if mebibytes < 0 {
		return "-" + FormatMemory(-mebibytes)
	}
	for _, unit := range []struct {
		size int64
		name string
	}{{mebibytesPerTiB, " TiB"}, {mebibytesPerGiB, " GiB"}} {
		rest := mebibytes % unit.size * 1000
		if mebibytes >= unit.size && rest%unit.size == 0 {
			return thousands.Format(mebibytes/unit.size) + decimals(rest/unit.size) + unit.name
		}
	}
	return thousands.Format(mebibytes) + " MiB"
}

// decimals writes thousandths behind a point, without zeros at the end; nothing for 0.
func decimals(thousandths int64) string {
	digits := []byte{'.', byte('0' + thousandths/100), byte('0' + thousandths/10%10), byte('0' + thousandths%10)}
	return strings.TrimRight(strings.TrimRight(string(digits), "0"), ".")
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
