package gss

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Paths returns the realms through which tickets of one realm may come to a service of another.
// found is false if only the tree of names says it.
type Paths func(client, service string) (through []string, found bool)

// throughMax limits a list of realms, in bytes. Each of its items may stand for a name that is longer
// than the item before, so a list needs memory of the square of its size.
const throughMax = 4 << 10

// checkPath returns nil if each realm through which a ticket came is one of those that paths names
// for the realms of client and service. If it names none, each must lie between the two in the tree
// of their names, as A.EXAMPLE, EXAMPLE, B.EXAMPLE. Kerberos trusts these by default.
func checkPath(client, service, through string, paths Paths) error {
	if len(through) > throughMax {
		return fmt.Errorf("the list of realms has %d bytes, at most %d are read", len(through), throughMax)
	}
	trusted, found := paths(client, service)
	if found {
		trusted = append(trusted, client, service)
	} else if trusted = between(client, service); len(trusted) == 0 {
		return errors.New("the two realms have no common parent: write the path to [capaths] of krb5.conf, let the KDC check it, or let the realms trust each other directly")
	}
	realms, err := expand(client, service, through)
	if err != nil {
		return err
	}
	for _, r := range realms {
		if slices.Contains(trusted, r) {
			continue
		}
		if found {
			return fmt.Errorf("realm %s is not on their path in [capaths] of krb5.conf", clip(r))
		}
		return fmt.Errorf("realm %s is not between them: if you trust it, write it to [capaths] of krb5.conf", clip(r))
	}
	return nil
}

// between returns the realms from one up to the common parent, and down to the other, or nil if
// there is no common parent.
func between(a, b string) []string {
	up, down := parents(a), parents(b)
	for i, r := range up {
		if j := slices.Index(down, r); j >= 0 {
			return slices.Concat(up[:i+1], down[:j])
		}
	}
	return nil
}

// parents returns a realm and those above it.
func parents(realm string) []string {
	out := []string{realm}
	for {
		_, above, found := strings.Cut(realm, ".")
		if !found {
			return out
		}
		out, realm = append(out, above), above
	}
}

// expand decodes a list of realms (RFC 4120, section 3.3.3.2). An empty item stands for the realms
// between its neighbours, of which the first is the client's realm and the last the service's. Names
// of X.500 and quoted characters are refused.
func expand(client, service, through string) ([]string, error) {
	var out []string
	last, gap := client, false
	fill := func(next string) error {
		if !gap {
			return nil
		}
		all := between(last, next)
		if all == nil {
			return fmt.Errorf("the list of realms has a gap from %s to %s, which have no common parent", clip(last), clip(next))
		}
		out, gap = append(out, all...), false
		return nil
	}
	for item := range strings.SplitSeq(through, ",") {
		whole, found := strings.CutPrefix(item, " ")
		switch {
		case item == "":
			gap = true
			continue
		case strings.ContainsAny(item, `/\`):
			return nil, fmt.Errorf("the list of realms has the item %q, which is not read", clip(item))
		case found:
			item = whole
		case strings.HasSuffix(item, ".") && len(out) > 0:
			item += last
		}
		if err := fill(item); err != nil {
			return nil, err
		}
		out, last = append(out, item), item
	}
	return out, fill(service)
}
