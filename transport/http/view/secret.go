package view

import (
	"strings"

	"rmd/scheduler/capacity"
)

// secretWords lists parts of configuration keys whose values are secret.
var secretWords = []string{"password", "secret", "credential", "keytab", "token.key", "private"}

// Masked replaces a secret value.
const Masked = "********"

// MaskProperty returns Masked if a key's value is a secret, otherwise the value. The names of
// queues do not count: of a queue's key it looks only at the last part.
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
