package hadoop

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"rmd/internal/hadoopconf"
)

// Addresses are the addresses of the four ports.
type Addresses struct {
	Client, Scheduler, Tracker, Admin Address
}

// Address is the address of one port, host:port. Listen is the address to bind, Public the one in
// Hadoop's files.
type Address struct{ Listen, Public string }

// ports are YARN's keys and default ports.
var ports = []struct {
	key  string
	port int
	of   func(*Addresses) *Address
}{
	{"yarn.resourcemanager.address", 8032, func(a *Addresses) *Address { return &a.Client }},
	{"yarn.resourcemanager.scheduler.address", 8030, func(a *Addresses) *Address { return &a.Scheduler }},
	{"yarn.resourcemanager.resource-tracker.address", 8031, func(a *Addresses) *Address { return &a.Tracker }},
	{"yarn.resourcemanager.admin.address", 8033, func(a *Addresses) *Address { return &a.Admin }},
}

// DefaultPort is one of YARN's ports.
type DefaultPort struct {
	Key  string // of its address in yarn-site.xml
	Port int
}

// DefaultPorts returns YARN's ports.
func DefaultPorts() (out []DefaultPort) {
	for _, p := range ports {
		out = append(out, DefaultPort{p.key, p.port})
	}
	return out
}

// AddressesOf reads the addresses of a replica's ports. It uses KEY.ID, then KEY, then
// yarn.resourcemanager.hostname(.ID) with YARN's default port. With yarn.resourcemanager.bind-host,
// the replica binds that host with the same ports. The error is a *hadoopconf.Error with every invalid
// value.
func AddressesOf(conf *hadoopconf.Config, id string) (Addresses, error) {
	var out Addresses
	var faults []hadoopconf.Fault
	bind := of(conf, "yarn.resourcemanager.bind-host", id).Value
	for _, p := range ports {
		at := of(conf, p.key, id)
		text := at.Value
		if text == "" {
			at = of(conf, "yarn.resourcemanager.hostname", id)
			text = net.JoinHostPort(cmp.Or(at.Value, "0.0.0.0"), strconv.Itoa(p.port))
		}
		host, port, err := split(text, p.port)
		if err != nil {
			faults = append(faults, hadoopconf.Fault{File: at.File, Line: at.Line, What: at.Name + ": " + err.Error()})
			continue
		}
		a := p.of(&out)
		a.Public = net.JoinHostPort(host, port)
		a.Listen = a.Public
		if bind != "" {
			a.Listen = net.JoinHostPort(bind, port)
		}
	}
	if len(faults) > 0 {
		return out, &hadoopconf.Error{Faults: faults}
	}
	return out, nil
}

// of returns the property KEY.ID if it has a value, or else KEY.
func of(conf *hadoopconf.Config, key, id string) hadoopconf.Property {
	if p, _ := conf.Get(key + "." + id); p.Value != "" {
		return p
	}
	p, _ := conf.Get(key)
	return p
}

// split splits HOST:PORT. If the text has no port, it returns the default port.
func split(text string, port int) (string, string, error) {
	host, p, err := net.SplitHostPort(text)
	if err != nil {
		host, p = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), strconv.Itoa(port)
	}
	_, notIP := netip.ParseAddr(host)
	n, err := strconv.Atoi(p)
	switch {
	case host == "" || strings.ContainsAny(host, " /[]") || (strings.Contains(host, ":") && notIP != nil):
		return "", "", fmt.Errorf("%q is not HOST:PORT", text)
	case err != nil || n < 0 || n > 65535:
		return "", "", fmt.Errorf("%q: the port is not a number from 0 to 65535", text)
	}
	return host, p, nil
}
