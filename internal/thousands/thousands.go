// Package thousands formats whole numbers with separators between thousands.
package thousands

import (
	"fmt"
	"strings"
)

// Format formats a whole number with separators: 184,201.
func Format(n any) string {
	s, sign := fmt.Sprint(n), ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Count formats a number with its noun: 1 node, 2,000 nodes.
func Count(n any, one string) string {
	if s := Format(n); s != "1" {
		return s + " " + one + "s"
	}
	return "1 " + one
}
