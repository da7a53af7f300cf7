// Package bytesize formats numbers of bytes.
package bytesize

import (
	"fmt"
	"strconv"
	"strings"
)

// Format formats a number of bytes, which is a whole number of any type: 512 B, 41.2 MiB, 1.5 GiB.
func Format(bytes any) string {
	n, err := strconv.ParseFloat(fmt.Sprint(bytes), 64)
	if err != nil {
		return fmt.Sprint(bytes)
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if n >= 100 {
		return strconv.FormatFloat(n, 'f', 0, 64) + " " + units[i]
	}
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0") + " " + units[i]
}
