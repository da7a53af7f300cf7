package yarn

import (
	"fmt"
	"strconv"
	"strings"
)

// LifetimeTag is the prefix of the application tag that declares how long each container other than
// the AM's runs: rmd.lifetime:seconds=90.
const LifetimeTag = "rmd.lifetime:"

// MaxLifetimeSeconds is the longest lifetime that a tag may declare: one year.
const MaxLifetimeSeconds = 365 * 86_400

// DeclaredLifetime returns the lifetime in milliseconds that an application's tags declare for its
// containers, or 0 if none does.
func DeclaredLifetime(tags []string) (millis int64, err error) {
	for _, tag := range tags {
		text, ok := strings.CutPrefix(tag, LifetimeTag)
		if !ok {
			continue
		}
		if millis != 0 {
			return 0, fmt.Errorf("the tags declare two lifetimes, the second with %q", tag)
		}
		text, ok = strings.CutPrefix(text, "seconds=")
		seconds, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || seconds < 1 || seconds > MaxLifetimeSeconds {
			return 0, fmt.Errorf("the tag %q declares no lifetime of 1 to %d seconds", tag, MaxLifetimeSeconds)
		}
		millis = seconds * 1000
	}
	return millis, nil
}
