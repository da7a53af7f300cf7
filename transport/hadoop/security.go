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

	"rmd/internal/gss"
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
	// byPort has the ports that offer others.
	byPort map[int]ipc.Protection
}

// The classes that choose the protection of a connection.
const (
	resolver        = "org.apache.hadoop.security.SaslPropertiesResolver"
	ingressResolver = "org.apache.hadoop.security.IngressPortBasedResolver"
)

// SecurityOf reads the security of a replica's ports from Hadoop's files, and its keytab. short maps
// principals to users. log gets a warning when the keytab cannot be read again. Each error says what
// to do.
func SecurityOf(conf *hadoopconf.Config, id string, short func(string) (string, error), log hclog.Logger) (Security, error) {
	s, err := SecurityToNodes(conf)
	if err != nil {
		return s, err
	}
	if conf.Value("hadoop.security.saslproperties.resolver.class", resolver) == ingressResolver {
		if s.byPort, err = protectionByPort(conf); err != nil {
			return s, err
		}
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
		i := slices.IndexFunc([]string{"authentication", "integrity", "privacy"}, func(n string) bool { return strings.EqualFold(n, name) })
		if i < 0 {
			return 0
		}
		p |= ipc.Authentication << i
	}
	return p
}

func protectionByPort(conf *hadoopconf.Config) (map[int]ipc.Protection, error) {
	out := map[int]ipc.Protection{}
	for _, text := range hadoopconf.List(conf.Value("ingress.port.sasl.configured.ports", "")) {
		port, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("ingress.port.sasl.configured.ports: %q is not a port", text)
		}
		if out[port], err = protection(conf, "ingress.port.sasl.prop."+text, "privacy"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// at returns the function that chooses the protection of a port's connections.
func (s Security) at(listen string) func(netip.Addr) ipc.Protection {
	offers := max(s.Protection, ipc.Authentication)
	if _, port, err := net.SplitHostPort(listen); err == nil {
		if n, err := strconv.Atoi(port); err == nil && s.byPort[n] != 0 {
			offers = s.byPort[n]
		}
	}
	return func(netip.Addr) ipc.Protection { return offers }
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

const (
	principalKey = "yarn.resourcemanager.principal"
	keytabKey    = "yarn.resourcemanager.keytab"
)

// kerberosOf reads the principal of this replica and its keys.
func kerberosOf(conf *hadoopconf.Config, id string, short func(string) (string, error), log hclog.Logger) (*ipc.Kerberos, error) {
	pattern, path := conf.Value(principalKey, ""), conf.Value(keytabKey, "")
	switch {
	case pattern == "":
		return nil, fmt.Errorf("%s is missing, and hadoop.security.authentication is kerberos: name the service, for instance rm/_HOST@EXAMPLE.COM", principalKey)
	case path == "":
		return nil, fmt.Errorf("%s is missing, and hadoop.security.authentication is kerberos: name the file with the keys of %s", keytabKey, pattern)
	}
	name, err := ownPrincipal(conf, id, pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", principalKey, err)
	}
	acceptor, err := gss.OpenAcceptor(gss.Config{Principal: name.String(), Keytab: path, Warn: func(err error) {
		log.Error("the keytab has changed and cannot be read; the earlier keys are used", "error", err)
	}})
	if errors.Is(err, os.ErrPermission) {
		err = fmt.Errorf("%w: give the user of this process the right to read it", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keytabKey, err)
	}
	log.Info("callers are authenticated by Kerberos", "principal", name, "keytab", path)
	return &ipc.Kerberos{Acceptor: acceptor, Service: name.Components[0], Host: name.Components[1], Short: short}, nil
}

// ownPrincipal replaces _HOST by the host of this replica's client port. Clients compare the
// principal with the one that they expect at the address that they call.
func ownPrincipal(conf *hadoopconf.Config, id, pattern string) (gss.Principal, error) {
	p, err := gss.ParsePrincipal(pattern)
	if err != nil {
		return p, err
	}
	if len(p.Components) != 2 {
		//lint:ignore ST1005 Java's words
		return p, fmt.Errorf("Kerberos principal name does NOT have the expected hostname part: %s: write SERVICE/_HOST@REALM", pattern)
	}
	if p.Components[1] != "_HOST" {
		return p, nil
	}
	at, err := AddressesOf(conf, id)
	if err != nil {
		return p, err
	}
	host, _, err := net.SplitHostPort(at.Client.Public)
	if err != nil {
		return p, err
	}
	p.Components[1], err = canonical(host)
	return p, err
}

// canonical returns the name of a host in lower case. That of 0.0.0.0 is this machine's.
func canonical(host string) (string, error) {
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
	case ip.IsUnspecified():
		if host, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("_HOST: %w", err)
		}
	default:
		names, err := net.LookupAddr(host)
		if err != nil || len(names) == 0 {
			return "", fmt.Errorf("_HOST: the address %s has no name: write the host's name in yarn.resourcemanager.address, or in the principal (%v)", host, err)
		}
		host = strings.TrimSuffix(names[0], ".")
	}
	return strings.ToLower(host), nil
}
