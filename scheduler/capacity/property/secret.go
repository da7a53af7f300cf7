package property

import "strings"

// secretWords are words in the names of keys whose values are not shown.
var secretWords = []string{"password", "secret", "credential", "keytab", "token.key", "private"}

// Secret reports whether the value of a key must not be shown. The path of a queue does not count:
// a queue may be named "secret".
func Secret(name string) bool {
	name = strings.ToLower(name)
	if rest, ok := strings.CutPrefix(name, Prefix+"root."); ok {
		name = rest[strings.LastIndexByte(rest, '.')+1:]
	}
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
