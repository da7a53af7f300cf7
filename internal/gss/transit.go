package gss

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkPath returns nil if each realm through which a ticket came lies between the realms of the
// client and of the service in the tree of their names, as A.EXAMPLE, EXAMPLE, B.EXAMPLE. Kerberos
// trusts these by default.
func checkPath(client, service, through string) error {
	trusted := between(client, service)
	if len(trusted) == 0 {
		return errors.New("the two realms have no common parent; let the KDC check the path, or let the realms trust each other directly")
	}
	realms, err := expand(through)
	if err != nil {
		return err
	}
	for _, r := range realms {
		if !slices.Contains(trusted, r) {
			return fmt.Errorf("realm %s is not between them", clip(r))
		}
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

// expand decodes a list of realms (RFC 4120, section 3.3.3.2). An empty item stands for realms
// between its neighbours, which lie between client and service if the neighbours do. Names of X.500
// and quoted characters are refused.
func expand(through string) ([]string, error) {
	var out []string
	last := ""
	for item := range strings.SplitSeq(through, ",") {
		whole, found := strings.CutPrefix(item, " ")
		switch {
		case item == "":
			continue
		case strings.ContainsAny(item, `/\`):
			return nil, fmt.Errorf("the list of realms has the item %q, which is not read", clip(item))
		case found:
			item = whole
		case strings.HasSuffix(item, "."):
			item += last
		}
		out, last = append(out, item), item
	}
	return out, nil
}
