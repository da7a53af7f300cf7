package access

import "strings"

// anybody reports whether a part of a list is "*". A star within a name has no special meaning.
func anybody(part string) bool { return strings.TrimSpace(part) == "*" }
