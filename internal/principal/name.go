package principal

import (
	"errors"
	"regexp"
	"strings"
)

// Name is a principal: user@REALM, service/host@REALM, or a simple name without host and realm.
type Name struct {
	Service, Host, Realm string
	hasHost, hasRealm    bool
}

var nameParser = regexp.MustCompile(`^([^/@]+)(/([^/@]+))?(@([^/@]+))?\z`)

// ParseName splits a principal. A text that is no principal and has no "@" is a simple name.
func ParseName(text string) (Name, error) {
	m := nameParser.FindStringSubmatch(text)
	switch {
	case m != nil:
		return Name{Service: m[1], Host: m[3], Realm: m[5], hasHost: m[2] != "", hasRealm: m[4] != ""}, nil
	case strings.Contains(text, "@"):
		return Name{}, errors.New("Malformed Kerberos name: " + text)
	}
	return Name{Service: text}, nil
}

// String returns the principal.
func (n Name) String() string {
	out := n.Service
	if n.hasHost {
		out += "/" + n.Host
	}
	if n.hasRealm {
		out += "@" + n.Realm
	}
	return out
}

// params returns the realm and the components, which rules name $0, $1 and $2.
func (n Name) params() []string {
	realm := n.Realm
	if !n.hasRealm {
		realm = "null" // as Java prints a missing realm
	}
	if n.hasHost {
		return []string{realm, n.Service, n.Host}
	}
	return []string{realm, n.Service}
}
