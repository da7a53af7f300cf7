package view

import (
	"strings"

	"rmd/scheduler/capacity"
)

// secretWords mark configuration keys whose values are not shown.
var secretWords = []string{"password", "secret", "credential", "keytab", "token.key", "private"}

// Masked stands for a value that is not shown.
const Masked = "********"

// MaskProperty hides the value of a key that holds a secret. What a queue is called says
// nothing about that: of its keys only the last part counts.
func MaskProperty(name, value string) string {
	lower := strings.ToLower(name)
	if strings.HasPrefix(name, capacity.Prefix) {
		lower = lower[strings.LastIndexByte(lower, '.')+1:]
	}
	for _, w := range secretWords {
		if value != "" && strings.Contains(lower, w) {
			return Masked
		}
	}
	return value
}
