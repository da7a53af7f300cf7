package access

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"rmd/internal/hadoopconf"
	"rmd/internal/principal"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// PolicyFile is the file of the service ACLs, beside Hadoop's other files.
const PolicyFile = "hadoop-policy.xml"

// protocols are the protocols of a ResourceManager and the keys of their ACLs. The key of the hosts
// has "hosts" in place of "acl".
//
// Source: Hadoop 3.4.2, RMPolicyProvider.
var protocols = map[string]string{
	"org.apache.hadoop.yarn.server.api.ResourceTrackerPB":                       "security.resourcetracker.protocol.acl",
	"org.apache.hadoop.yarn.api.ApplicationClientProtocolPB":                    "security.applicationclient.protocol.acl",
	"org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB":                    "security.applicationmaster.protocol.acl",
	"org.apache.hadoop.yarn.server.api.DistributedSchedulingAMProtocolPB":       "security.distributedscheduling.protocol.acl",
	"org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB": "security.resourcemanager-administration.protocol.acl",
	"org.apache.hadoop.yarn.api.ContainerManagementProtocolPB":                  "security.containermanagement.protocol.acl",
	"org.apache.hadoop.ha.HAServiceProtocol":                                    "security.ha.service.protocol.acl",
}

// trackerProtocol is the protocol of nodes. With Kerberos, only yarn.nodemanager.principal may use
// it.
const trackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"

// service says who may use one protocol, and from where.
type service struct {
	allowed, blocked         yarn.ACL
	fromAllowed, fromBlocked HostList
	realAllowed, realBlocked []string // real users whose users may use it: "~knox"
	onlyPrincipal            string   // "": any; it may have _HOST for the name of the caller's host
}

// Authorizes reports whether Hadoop's files ask for service ACLs (hadoop.security.authorization).
func Authorizes(conf *hadoopconf.Config) bool {
	return strings.EqualFold(conf.Value("hadoop.security.authorization", "false"), "true")
}

// LoadServices replaces the service ACLs by those in conf, which has the keys of hadoop-policy.xml
// too. On an error, the old ones stay in force. Open connections stay.
//
// Source: Hadoop 3.4.2, ServiceAuthorizationManager.
func (a *Access) LoadServices(conf *hadoopconf.Config) error {
	services := map[string]service{}
	for _, protocol := range slices.Sorted(maps.Keys(protocols)) {
		s, err := a.serviceOf(conf, protocols[protocol])
		if err != nil {
			return err
		}
		if protocol == trackerProtocol && principal.Kerberos(conf) {
			s.onlyPrincipal = conf.Value("yarn.nodemanager.principal", "")
		}
		services[protocol] = s
	}
	a.services.Store(&services)
	return nil
}

// serviceOf reads the rules of one protocol.
func (a *Access) serviceOf(conf *hadoopconf.Config, key string) (s service, err error) {
	const common = "security.service.authorization.default.acl"
	value := func(suffix, def string) hadoopconf.Property {
		for _, k := range []string{hostsOr(key, suffix), hostsOr(common, suffix)} {
			if p, ok := conf.Get(k); ok {
				return p
			}
		}
		return hadoopconf.Property{Value: def}
	}
	s.allowed, s.realAllowed = parseService(value("", "*").Value)
	s.blocked, s.realBlocked = parseService(value(".blocked", "").Value)
	for suffix, list := range map[string]*HostList{".hosts": &s.fromAllowed, ".hosts.blocked": &s.fromBlocked} {
		def := "*"
		if suffix == ".hosts.blocked" {
			def = ""
		}
		p := value(suffix, def)
		var unknown []string
		if *list, unknown, err = ParseHosts(p.Value, a.find); err != nil {
			return service{}, fmt.Errorf("%s %s: %w", p.Origin(), p.Name, err)
		}
		if len(unknown) > 0 {
			a.log.Warn("hosts in the service ACLs have no address, so they stand for nothing until -refreshServiceAcl", "key",
				p.Name, "hosts", strings.Join(unknown, " "))
		}
	}
	return s, nil
}

// hostsOr returns the key of a suffix: "….acl.blocked", but "….hosts".
func hostsOr(key, suffix string) string {
	if strings.HasPrefix(suffix, ".hosts") {
		key = strings.TrimSuffix(key, ".acl")
	}
	return key + suffix
}

// parseService reads an ACL, and the real users in it: "~knox" stands for the users for whom knox
// acts.
func parseService(text string) (yarn.ACL, []string) {
	acl := yarn.ParseACL(text)
	var real []string
	for _, u := range acl.Users {
		if name, ok := strings.CutPrefix(u, "~"); ok {
			real = append(real, name)
		}
	}
	return acl, real
}

// Authorize returns an error if a caller may not use a protocol. It allows everything as long as no
// service ACLs were loaded.
func (a *Access) Authorize(c *ipc.Caller, protocol string) error {
	services := a.services.Load()
	if services == nil {
		return nil
	}
	s, known := (*services)[protocol]
	switch {
	case protocol == "":
		return unauthorized("Null protocol not authorized")
	case !known && strings.HasPrefix(protocol, "org.apache.hadoop."):
		return unauthorized("Protocol interface %s is not known.", protocol)
	case !known:
		return unauthorized("Unknown protocol: %s", protocol)
	}
	from := c.Address.Addr()
	only := a.onHost(s.onlyPrincipal, from)
	switch {
	case only != "" && only != fullName(c):
		return unauthorized("User %s is not authorized for protocol interface %s: this service is only accessible by %s",
			describe(c), protocol, only)
	case !a.listed(s.allowed, s.realAllowed, c) || a.listed(s.blocked, s.realBlocked, c):
		cause := "denied by configured ACL"
		if only != "" {
			cause = "this service is only accessible by " + only
		}
		return unauthorized("User %s is not authorized for protocol interface %s: %s", describe(c), protocol, cause)
	case !s.fromAllowed.Includes(from) || s.fromBlocked.Includes(from):
		return unauthorized("Host %s is not authorized for protocol interface %s", inJava(from), protocol)
	}
	return nil
}

func unauthorized(format string, args ...any) error {
	return &ipc.Error{Class: ipc.ClassAuthorization, Message: fmt.Sprintf(format, args...)}
}

// listed reports whether an ACL has a caller. It looks up groups only if they matter.
func (a *Access) listed(acl yarn.ACL, real []string, c *ipc.Caller) bool {
	if acl.Allows(c.User) || c.RealUser != "" && slices.Contains(real, c.RealUser) {
		return true
	}
	return len(acl.Groups) > 0 && acl.Allows(c.User, a.groups.Of(c.User)...)
}

// fullName returns the name of a caller as it authenticated: a principal with Kerberos.
func fullName(c *ipc.Caller) string {
	if c.RealUser == "" && c.Principal != "" {
		return c.Principal
	}
	return c.User
}

// describe returns a caller as Java's UserGroupInformation prints itself.
func describe(c *ipc.Caller) string {
	if c.RealUser == "" {
		return fmt.Sprintf("%s (auth:%s)", fullName(c), c.Kind)
	}
	real := c.RealUser
	if c.Principal != "" {
		real = c.Principal
	}
	return fmt.Sprintf("%s (auth:PROXY) via %s (auth:%s)", c.User, real, c.Kind)
}

// inJava returns an address as Java prints it, which does not shorten IPv6 addresses.
func inJava(a netip.Addr) string {
	if a = a.Unmap().WithZone(""); !a.Is6() {
		return a.String()
	}
	b := a.As16()
	parts := make([]string, 8)
	for i := range parts {
		parts[i] = fmt.Sprintf("%x", uint16(b[2*i])<<8|uint16(b[2*i+1]))
	}
	return strings.Join(parts, ":")
}

// onHost replaces _HOST in a principal by the name of an address.
func (a *Access) onHost(name string, from netip.Addr) string {
	name, _ = principal.OnHost(name, func() (string, error) { return a.nameOf(from), nil }) // no error
	return name
}

// canonicalName returns the name of an address, or else the address, as Java's getCanonicalHostName.
func canonicalName(from netip.Addr) string {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	if name := principal.HostName(ctx, from); name != "" {
		return name
	}
	return inJava(from)
}
