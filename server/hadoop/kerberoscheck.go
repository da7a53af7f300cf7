package hadoop

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"rmd/internal/gss"
	"rmd/internal/gss/kdc"
	"rmd/internal/hadoopconf"
	"rmd/internal/localaddr"
	"rmd/internal/principal"
	ports "rmd/transport/hadoop"
)

// Finding is the result of one check of what Kerberos needs on a replica's machine.
type Finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"` // what to do, if it is not OK
}

// kerberosCheck collects findings.
type kerberosCheck struct {
	found []Finding
}

// CheckKerberos checks what Kerberos needs on the machine of a replica, by Hadoop's files: the realm,
// the rules of names, and for each service its keytab, host name, key and clock. It asks DNS and the
// KDC, and changes nothing.
func CheckKerberos(ctx context.Context, conf *hadoopconf.Config, id string) []Finding {
	c := &kerberosCheck{}
	ipc, web := principal.Kerberos(conf), conf.Value(webType, "simple") == "kerberos"
	if !ipc && !web {
		c.bad("kerberos", "Hadoop's files do not ask for it", "set hadoop.security.authentication or "+webType+" to kerberos")
		return c.found
	}
	c.realm()
	if _, err := principal.Load(conf); err != nil {
		c.bad("names", err.Error(), "correct hadoop.security.auth_to_local")
	} else {
		c.good("names", "the rules of hadoop.security.auth_to_local can be read")
	}
	if ipc {
		const key = "yarn.resourcemanager.principal"
		if p, err := ports.Principal(conf, id); err != nil {
			c.bad("principal", err.Error(), "set the key to SERVICE/_HOST@REALM, and yarn.resourcemanager.address to this host")
		} else {
			c.service(ctx, key, p.String(), conf.Value("yarn.resourcemanager.keytab", ""))
		}
	}
	if web {
		name, file, err := webService(conf, id)
		if err != nil {
			c.bad(rmPrincipal, err.Error(), "set the key")
		} else {
			c.service(ctx, rmPrincipal, name, file)
		}
	}
	return c.found
}

func (c *kerberosCheck) good(what, format string, args ...any) {
	c.found = append(c.found, Finding{What: what, OK: true, Detail: fmt.Sprintf(format, args...)})
}

func (c *kerberosCheck) bad(what, detail, do string) {
	c.found = append(c.found, Finding{What: what, Detail: detail, Do: do})
}

func (c *kerberosCheck) realm() {
	path := principal.Configuration()
	switch realm, err := principal.DefaultRealm(path); {
	case err != nil:
		c.bad("realm", err.Error(), "install Kerberos's configuration, or name it in KRB5_CONFIG")
	case realm == "":
		c.bad("realm", path+" has no default_realm", "write default_realm = REALM into [libdefaults]")
	default:
		c.good("realm", "%s, by %s", realm, path)
	}
}

// service checks one service.
func (c *kerberosCheck) service(ctx context.Context, key, name, file string) {
	p, err := gss.ParsePrincipal(name)
	switch {
	case err != nil:
		c.bad(key, fmt.Sprintf("%q is no principal: %v", name, err), "write SERVICE/_HOST@REALM")
		return
	case len(p.Components) != 2:
		c.bad(key, name+": Kerberos principal name does NOT have the expected hostname part",
			"write "+p.Components[0]+"/_HOST@REALM")
		return
	case file == "":
		c.bad(key, "no keytab is named", "set the key of the keytab")
		return
	}
	entry := c.keytab(p, file)
	if p.Components[1] != "*" {
		c.names(ctx, p.Components[1])
	}
	if entry != nil {
		c.login(*entry, file)
	}
}

// The encryption types that are supported.
var etypes = map[int32]string{17: "aes128-cts-hmac-sha1-96", 18: "aes256-cts-hmac-sha1-96",
	19: "aes128-cts-hmac-sha256-128", 20: "aes256-cts-hmac-sha384-192"}

// keytab checks a keytab. It returns a principal that has a usable key, or nil.
func (c *kerberosCheck) keytab(want gss.Principal, file string) *gss.Principal {
	what := "keytab " + file
	info, err := os.Stat(file)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		c.bad(what, fmt.Sprintf("its mode is %#o, so others can act as this service", info.Mode().Perm()), "chmod 600 "+file)
	}
	kt, err := kdc.Keytab(file)
	if err != nil {
		c.bad(what, err.Error(), "export the key with \"ktadd -k "+file+" "+want.String()+
			"\" in kadmin, readable for the user of rmd")
		return nil
	}
	var others, weak, usable []string
	var found *gss.Principal
	for _, e := range kt.Entries {
		p := gss.Principal{Components: e.Principal.Components, Realm: e.Principal.Realm}
		same := len(p.Components) == 2 && p.Components[0] == want.Components[0] && (want.Realm == "" || want.Realm == p.Realm)
		switch {
		case !same || want.Components[1] != "*" && want.Components[1] != p.Components[1]:
			others = append(others, p.String())
		case etypes[e.Key.KeyType] == "":
			weak = append(weak, fmt.Sprint(e.Key.KeyType))
		default:
			found = &p
			usable = append(usable, fmt.Sprintf("%s version %d", etypes[e.Key.KeyType], e.KVNO))
		}
	}
	switch {
	case found != nil:
		c.good(what, "%s has %s", found, strings.Join(usable, ", "))
	case len(weak) > 0:
		c.bad(what, fmt.Sprintf("%s has only keys of the encryption types %s, which are not supported", want,
			strings.Join(weak, ", ")),
			"export it with \"ktadd -e aes256-cts-hmac-sha1-96:normal\", and allow AES for the account in Active Directory")
	default:
		slices.Sort(others)
		c.bad(what, fmt.Sprintf("it has no key of %s, but of %s", want, strings.Join(slices.Compact(others), ", ")),
			"export the principal of this host, or correct the host in Hadoop's files; each replica has a principal of its own")
	}
	return found
}

// names checks that a host name leads to this machine and back.
func (c *kerberosCheck) names(ctx context.Context, host string) {
	what := "name " + host
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		c.bad(what, err.Error(), "give the host a name in DNS or /etc/hosts on every machine")
		return
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	here, _ := localaddr.Interfaces() // on an error the finding says that the address is of another machine
	own := slices.ContainsFunc(addrs, here.Has)
	back, err := net.DefaultResolver.LookupAddr(ctx, addrs[0].String())
	same := slices.ContainsFunc(back, func(n string) bool { return strings.EqualFold(strings.TrimSuffix(n, "."), host) })
	switch {
	case !own:
		c.bad(what, fmt.Sprintf("its address %s is not one of this machine", addrs[0]),
			"run this on the replica's machine, or correct the name")
	case err != nil || !same:
		c.bad(what, fmt.Sprintf("its address %s has the names %v", addrs[0], back),
			"correct the reverse zone: clients that look names up backwards ask for another principal")
	default:
		c.good(what, "%s is its address, and of this machine", addrs[0])
	}
}

// login gets a ticket with the keytab, which needs the KDC, the right key and the right time.
func (c *kerberosCheck) login(p gss.Principal, file string) {
	const what = "KDC"
	l, err := kdc.NewLogin(p.String(), file, principal.Configuration())
	if err == nil {
		err = l.Check()
	}
	if err != nil {
		c.bad(what, fmt.Sprintf("no ticket for %s: %v", p, err), remedyOf(err.Error(), p))
		return
	}
	c.good(what, "it gives a ticket to %s, so the key is current and the clocks agree", p)
}

// remedyOf returns what to do about a refusal of the KDC.
func remedyOf(text string, p gss.Principal) string {
	for _, r := range []struct{ part, do string }{
		{"SKEW", "synchronize the clock (chrony, ntpd)"},
		{"clock skew", "synchronize the clock (chrony, ntpd)"},
		{"C_PRINCIPAL_UNKNOWN", "create it: \"addprinc -randkey " + p.String() + "\" in kadmin"},
		{"PREAUTH_FAILED", "the KDC has a newer key than the keytab: export it again with ktadd"},
		{"Decrypting", "the KDC has a newer key than the keytab: export it again with ktadd"},
		{"decrypting", "the KDC has a newer key than the keytab: export it again with ktadd"},
		{"ETYPE_NOSUPP", "allow aes256-cts-hmac-sha1-96 in the KDC and in permitted_enctypes of krb5.conf"},
		{"CLIENT_REVOKED", "unlock the account in the KDC"},
	} {
		if strings.Contains(text, r.part) {
			return r.do
		}
	}
	return "check [realms] in " + principal.Configuration() + ", and that the KDC's port 88 is open from here"
}
