package hadoop

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"rmd/internal/gss"
	"rmd/internal/hadoopconf"
	"rmd/internal/principal"
)

const (
	principalKey = "yarn.resourcemanager.principal"
	keytabKey    = "yarn.resourcemanager.keytab"
)

// OpenAcceptor reads the keys of a service. Tickets of other realms are checked by [capaths] of
// krb5.conf.
func OpenAcceptor(service, keytab string, warn func(error)) (*gss.Acceptor, error) {
	paths, err := principal.LoadPaths(principal.Configuration())
	if err != nil {
		return nil, err
	}
	return gss.OpenAcceptor(gss.Config{Principal: service, Keytab: keytab, Paths: paths.Between, Warn: warn})
}

// Principal returns the principal of a replica's four ports. _HOST is the host of its client port:
// clients compare the principal with the one that they expect at the address that they call.
func Principal(conf *hadoopconf.Config, id string) (gss.Principal, error) {
	name, err := principal.OnHost(conf.Value(principalKey, ""), func() (string, error) { return clientHost(conf, id) })
	if err != nil {
		return gss.Principal{}, fmt.Errorf("%s: %w", principalKey, err)
	}
	p, err := gss.ParsePrincipal(name)
	switch {
	case err != nil:
		return p, fmt.Errorf("%s: %q: %w: write SERVICE/_HOST@REALM", principalKey, name, err)
	case len(p.Components) != 2:
		return p,
			fmt.Errorf("%s: Kerberos principal name does NOT have the expected hostname part: %s: write SERVICE/_HOST@REALM",
				principalKey, name)
	}
	return p, nil
}

// clientHost returns the host of the client port. For an address, it is the name, as in Java.
func clientHost(conf *hadoopconf.Config, id string) (string, error) {
	at, err := AddressesOf(conf, id)
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(at.Client.Public)
	if err != nil {
		return "", err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.IsUnspecified() {
		return host, nil
	}
	names, err := net.LookupAddr(host)
	if err != nil || len(names) == 0 {
		return "",
			fmt.Errorf("the address %s has no name for _HOST: write the host's name in yarn.resourcemanager.address, or in the principal (%v)", host, err)
	}
	return strings.TrimSuffix(names[0], "."), nil
}

// WebHost returns the host of a replica's web pages as Hadoop's files name it: that of
// yarn.resourcemanager.webapp.address, or with yarn.http.policy HTTPS_ONLY of
// yarn.resourcemanager.webapp.https.address, or else that of the client port.
func WebHost(conf *hadoopconf.Config, id string) (string, error) {
	key := "yarn.resourcemanager.webapp.address"
	if conf.Value("yarn.http.policy", "") == "HTTPS_ONLY" {
		key = "yarn.resourcemanager.webapp.https.address"
	}
	if text := of(conf, key, id).Value; text != "" && !strings.Contains(text, "${") {
		host, _, err := split(text, 0)
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		return host, nil
	}
	at, err := AddressesOf(conf, id)
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(at.Client.Public)
	return host, err
}
