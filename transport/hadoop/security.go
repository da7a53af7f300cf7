package hadoop

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/internal/principal"
	"rmd/transport/hadoop/ipc"
)

// Security is how the four ports authenticate callers and protect their connections. The zero value
// is that of a site without Kerberos.
type Security struct {
	// Kerberos is nil if callers without a token only say who they are.
	Kerberos *ipc.Kerberos
	// Protection are the qualities of protection of connections with a token or a ticket, also of
	// those to NodeManagers. 0 means ipc.Authentication.
	Protection ipc.Protection
	// choose returns the qualities that a port offers a peer. If it is nil, they are Protection.
	choose chooser
}

// SecurityOf reads the security of a replica's ports from Hadoop's files, and its keytab. short maps
// principals to users. log gets a warning when the keytab cannot be read again. Each error says what
// to do.
func SecurityOf(conf *hadoopconf.Config, id string, short func(string) (string, error),
	log hclog.Logger) (Security, error) {
	s, err := SecurityToNodes(conf)
	if err != nil {
		return s, err
	}
	if s.choose, err = chooserOf(conf, s.Protection, log); err != nil {
		return s, err
	}
	if principal.Kerberos(conf) {
		s.Kerberos, err = kerberosOf(conf, id, short, log)
	}
	return s, err
}

// SecurityToNodes reads the security of the connections to NodeManagers alone.
func SecurityToNodes(conf *hadoopconf.Config) (s Security, err error) {
	s.Protection, err = protection(conf, "hadoop.rpc.protection", "authentication")
	return s, err
}

// protection reads a list of qualities of protection.
func protection(conf *hadoopconf.Config, key, def string) (ipc.Protection, error) {
	value := conf.Value(key, def)
	p := parseProtection(value)
	if p == 0 {
		return 0, fmt.Errorf("%s is %q: write authentication, integrity, privacy, or a list of them", key, value)
	}
	return p, nil
}

// parseProtection returns the qualities of a list, or 0 if one is not known or the list is empty.
func parseProtection(list string) ipc.Protection {
	var p ipc.Protection
	for _, name := range hadoopconf.List(list) {
		i := slices.IndexFunc([]string{"authentication", "integrity", "privacy"},
			func(n string) bool { return strings.EqualFold(n, name) })
		if i < 0 {
			return 0
		}
		p |= ipc.Authentication << i
	}
	return p
}

// at returns the function that chooses the protection of a port's connections.
func (s Security) at(listen string) func(netip.Addr) ipc.Protection {
	offers := max(s.Protection, ipc.Authentication)
	if s.choose == nil {
		return func(netip.Addr) ipc.Protection { return offers }
	}
	_, text, _ := net.SplitHostPort(listen)
	port, _ := strconv.Atoi(text) // 0 is a port that the system chooses
	return func(peer netip.Addr) ipc.Protection { return s.choose(port, peer) }
}

// auth returns what a port offers, given what it offers without Kerberos.
func (s Security) auth(without ipc.Auth) ipc.Auth {
	switch {
	case s.Kerberos == nil:
		return without
	case without == ipc.AuthSimple:
		return ipc.AuthKerberos
	case without == ipc.AuthTokenSimple:
		return ipc.AuthTokenKerberos
	}
	return without
}

// kerberosOf reads the principal of this replica and its keys.
func kerberosOf(conf *hadoopconf.Config, id string, short func(string) (string, error),
	log hclog.Logger) (*ipc.Kerberos, error) {
	pattern, path := conf.Value(principalKey, ""), conf.Value(keytabKey, "")
	switch {
	case pattern == "":
		return nil,
			fmt.Errorf("%s is missing, and hadoop.security.authentication is kerberos: name the service, for instance rm/_HOST@EXAMPLE.COM", principalKey)
	case path == "":
		return nil,
			fmt.Errorf("%s is missing, and hadoop.security.authentication is kerberos: name the file with the keys of %s",
				keytabKey, pattern)
	}
	name, err := Principal(conf, id)
	if err != nil {
		return nil, err
	}
	acceptor, err := OpenAcceptor(name.String(), path, func(err error) {
		log.Error("the keytab has changed and cannot be read; the earlier keys are used", "error", err)
	})
	if errors.Is(err, os.ErrPermission) {
		err = fmt.Errorf("%w: give the user of this process the right to read it", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keytabKey, err)
	}
	log.Info("callers are authenticated by Kerberos", "principal", name, "keytab", path)
	return &ipc.Kerberos{Acceptor: acceptor, Service: name.Components[0], Host: name.Components[1], Short: short}, nil
}
