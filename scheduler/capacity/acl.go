package capacity

import (
	"strings"

	"rmd/scheduler/capacity/property"
)

// MayAdminister reports whether a user may administer queue i: because the list of the queue, of a
// queue above it or of the cluster contains the user, or because ACLs are disabled.
func (c *Config) MayAdminister(i int, user string, groups ...string) bool {
	if !c.ACLEnabled || c.AdminACL.Allows(user, groups...) {
		return true
	}
	for ; i >= 0; i = c.Queues[i].Parent {
		if c.Queues[i].AdministerACL.Allows(user, groups...) {
			return true
		}
	}
	return false
}

// MayChange reports whether a user may replace the configuration with next. The user must
// administer each queue whose keys change, or the nearest existing queue above it. For other keys
// the user must administer the cluster. If ok is false, key is the first key that the user may not
// change.
func (c *Config) MayChange(next *Config, user string, groups ...string) (key string, ok bool) {
	for _, name := range property.Changed(c.properties, next.properties) {
		rest, _ := strings.CutPrefix(name, Prefix)
		i, isQueue := c.byPath[longestQueue(c, rest)]
		if may := c.AdminACL.Allows(user, groups...); !may && !(isQueue && c.MayAdminister(i, user, groups...)) {
			return name, false
		}
	}
	return "", true
}

// MaySubmit reports whether a user may submit to queue i: because the submit list of the queue or
// of a queue above it contains the user, or because the user may administer the queue.
func (c *Config) MaySubmit(i int, user string, groups ...string) bool {
	if c.MayAdminister(i, user, groups...) {
		return true
	}
	for ; i >= 0; i = c.Queues[i].Parent {
		if c.Queues[i].SubmitACL.Allows(user, groups...) {
			return true
		}
	}
	return false
}
