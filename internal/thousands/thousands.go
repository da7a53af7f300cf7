// Package thousands writes whole numbers for people.
package thousands

import (
	"fmt"
	"strings"
)

// Format writes a whole number with its thousands separated: 184,201.
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
