package realm

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"rmd/cmd/internal/clierr"
	"rmd/internal/gss"
	"rmd/internal/gss/kdc"
	"rmd/internal/hadoopconf"
	"rmd/internal/principal"
	"rmd/transport/hadoop"
	"rmd/transport/hadoop/statestore"
)

// zooKeeperService is the first part of the principal of ZooKeeper's servers.
const zooKeeperService = "zookeeper/"

// lookupTimeout limits the lookup of a server's name.
const lookupTimeout = 2 * time.Second

// ZooKeeperLogin returns the login at ZooKeeper's servers, HOST:PORT, with the principal of the ports
// of the replica id. Its errors are those of the command line.
func ZooKeeperLogin(conf *hadoopconf.Config, id string, servers []string) (statestore.Login, error) {
	p, err := hadoop.Principal(conf, id)
	if err != nil {
		return nil, clierr.New(clierr.CodeConfig, "set it in yarn-site.xml", "--kerberos: %v", err)
	}
	file := conf.Value("yarn.resourcemanager.keytab", "")
	if _, err := kdc.Keytab(file); err != nil {
		return nil, clierr.New(clierr.CodeConfig, "set it in yarn-site.xml to the keytab of "+p.String(),
			"--kerberos: yarn.resourcemanager.keytab: %v", err)
	}
	l, err := kdc.NewLogin(p.String(), file, principal.Configuration())
	if err != nil {
		return nil, clierr.New(clierr.CodeConfig, "rmd check --kerberos says more", "--kerberos: %v", err)
	}
	return statestore.GSSAPI(func(at net.Addr) (gss.Ticket, error) {
		host, err := serverName(at, servers)
		if err != nil {
			return gss.Ticket{}, err
		}
		t, err := l.Ticket(context.Background(), zooKeeperService+host)
		if err != nil {
			err = fmt.Errorf("%w (see rmd check --kerberos)", err)
		}
		return t, err
	}), nil
}

// serverName returns the name of the server that was dialed at an address: as it is written in
// servers, or else that of its address.
func serverName(at net.Addr, servers []string) (string, error) {
	dialed, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	for _, s := range servers {
		host, _, _ := net.SplitHostPort(s) // the caller has checked it
		if _, err := netip.ParseAddr(host); err == nil {
			continue
		}
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err == nil && slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == dialed.Addr().Unmap() }) {
			return host, nil
		}
	}
	if name := principal.HostName(ctx, dialed.Addr()); name != "" {
		return name, nil
	}
	return "",
		fmt.Errorf("%s has no name, and the principal of ZooKeeper has one: name the server in --zk by its host name",
			dialed.Addr())
}
