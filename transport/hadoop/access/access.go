package access

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/internal/principal"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// Access has the access rules in force. Its methods may be called concurrently.
type Access struct {
	groups   *Groups
	log      hclog.Logger
	rules    atomic.Pointer[rules]
	services atomic.Pointer[map[string]service] // by protocol; nil: everybody may use every protocol
	find     resolve
	nameOf   func(netip.Addr) string // of the host that has an address
}

// rules are the access rules from one reading of the files.
type rules struct {
	enabled bool // yarn.acl.enable
	admins  yarn.ACL
	proxies map[string]proxy
	names   *principal.Rules // nil if they are invalid
	noNames error            // why they are invalid
}

// proxy are the rights of one superuser (hadoop.proxyuser.NAME.*).
type proxy struct {
	anyHost bool
	hosts   []string
	anyUser bool // users or groups is "*"
	users   []string
	groups  []string
}

// New reads the access rules. owner is the user of this process. It is always an administrator, as
// in YARN.
func New(conf *hadoopconf.Config, groups *Groups, owner string) (*Access, error) {
	a := &Access{groups: groups, log: groups.log, find: lookupHost, nameOf: canonicalName}
	return a, a.Load(conf, owner)
}

// Load replaces the rules. On an error, the old rules stay in force.
func (a *Access) Load(conf *hadoopconf.Config, owner string) error {
	if err := a.groups.Load(conf); err != nil {
		return err
	}
	r := &rules{enabled: strings.EqualFold(conf.Value("yarn.acl.enable", "false"), "true"), proxies: map[string]proxy{}}
	r.names, r.noNames = principal.Load(conf)
	if r.noNames != nil && principal.Kerberos(conf) {
		return r.noNames
	}
	admins := "*"
	if p, ok := conf.Get("yarn.admin.acl"); ok {
		admins = p.Value // " " means nobody
	}
	r.admins = yarn.ParseACL(admins)
	if owner != "" {
		r.admins.Users = append(r.admins.Users, owner)
		slices.Sort(r.admins.Users)
	}
	for rest, value := range proxyRules(conf) {
		dot := strings.LastIndexByte(rest, '.')
		if dot < 0 {
			continue
		}
		who := r.proxies[rest[:dot]]
		switch rest[dot+1:] {
		case "hosts":
			who.anyHost, who.hosts = anybody(value), hadoopconf.List(value)
		case "users":
			who.anyUser, who.users = who.anyUser || anybody(value), hadoopconf.List(value)
		case "groups":
			who.anyUser, who.groups = who.anyUser || anybody(value), hadoopconf.List(value)
		default:
			continue
		}
		r.proxies[rest[:dot]] = who
	}
	a.rules.Store(r)
	return nil
}

// proxyRules returns the values of hadoop.proxyuser.*, by the rest of their keys. A value of the
// ResourceManager's own key stands in place of that for all services, as in YARN.
func proxyRules(conf *hadoopconf.Config) map[string]string {
	out := map[string]string{}
	for _, prefix := range []string{"hadoop.proxyuser.", "yarn.resourcemanager.proxyuser."} {
		for _, p := range conf.Properties() {
			if rest, ok := strings.CutPrefix(p.Name, prefix); ok {
				out[rest] = p.Value
			}
		}
	}
	return out
}

// ShortName returns the name by which ACLs and queues know a Kerberos principal, and the rule that
// decided.
func (a *Access) ShortName(name string) (string, principal.Rule, error) {
	r := a.rules.Load()
	if r.names == nil {
		return "", principal.Rule{}, r.noNames
	}
	return r.names.Short(name)
}

// anybody reports whether a part of a list is "*". A star within a name has no special meaning.
func anybody(part string) bool { return strings.TrimSpace(part) == "*" }

// Enabled reports whether ACLs are checked (yarn.acl.enable).
func (a *Access) Enabled() bool { return a.rules.Load().enabled }

// Groups returns the groups of a user.
func (a *Access) Groups(user string) []string { return a.groups.Of(user) }

// Admin reports whether a user is an administrator of the cluster.
func (a *Access) Admin(user string) bool {
	return a.rules.Load().admins.Allows(user, a.groups.Of(user)...)
}

// Admit returns an error if the caller is not an administrator.
func (a *Access) Admit(c *ipc.Caller, operation string) error {
	if a.Admin(c.User) {
		return nil
	}
	return &ipc.Error{Class: ipc.ClassYarn, Message: fmt.Sprintf(
		"org.apache.hadoop.security.AccessControlException: User %s doesn't have permission to call '%s'", c.User, operation)}
}

// MayImpersonate returns an error if a superuser may not act for a user from an address.
func (a *Access) MayImpersonate(superuser, user string, from netip.Addr) error {
	p, ok := a.rules.Load().proxies[superuser]
	if !ok || !p.mayActFor(user, a.groups) {
		return &ipc.Error{Class: ipc.ClassAuthorization,
			Message: fmt.Sprintf("User: %s is not allowed to impersonate %s", superuser, user)}
	}
	if !p.matchesHost(from) {
		return &ipc.Error{Class: ipc.ClassAuthorization,
			Message: fmt.Sprintf("Unauthorized connection for super-user: %s from IP %s", superuser, from)}
	}
	return nil
}

func (p proxy) mayActFor(user string, groups *Groups) bool {
	if p.anyUser || slices.Contains(p.users, user) {
		return true
	}
	if len(p.groups) == 0 {
		return false // no lookup of groups is needed
	}
	return slices.ContainsFunc(groups.Of(user), func(g string) bool { return slices.Contains(p.groups, g) })
}

// matchesHost reports whether an address matches the hosts, which may be addresses, networks or
// names.
func (p proxy) matchesHost(ip netip.Addr) bool {
	if p.anyHost {
		return true
	}
	ip = ip.Unmap()
	for _, h := range p.hosts {
		if network, err := netip.ParsePrefix(h); err == nil {
			if network.Contains(ip) {
				return true
			}
			continue
		}
		if a, err := netip.ParseAddr(h); err == nil {
			if a.Unmap() == ip {
				return true
			}
			continue
		}
		if named(h, ip) {
			return true
		}
	}
	return false
}

// lookupTimeout limits the lookup of a host name. The connection waits for it.
const lookupTimeout = 2 * time.Second

func named(host string, ip netip.Addr) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	addrs, err := lookupHost(ctx, host)
	return err == nil && slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == ip })
}
