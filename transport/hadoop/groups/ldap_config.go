package groups

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"rmd/internal/hadoopconf"
)

const ldapPrefix = Key + ".ldap"

// bindUser is a user for the bind. Without a name, the bind is anonymous.
type bindUser struct{ name, password string }

// ldapConfig has the values of Hadoop's LDAP keys.
type ldapConfig struct {
	urls     []string
	tls      *tls.Config // nil without TLS
	startTLS bool
	users    []bindUser

	userBase, groupBase     string
	userFilter, groupFilter string
	// attributes for {0}, {1} … in groupFilter; nil: groups are found by their member attribute
	filterAttributes  []string
	memberOf          string // attribute of a user with the names of its groups; empty: search for the groups
	member, groupName string
	posix             bool
	uid, gid          string
	levels            int // levels of groups above the user's groups

	connect, read, search   time.Duration
	attempts, beforeAnother int
}

// ldapReader reads keys and keeps the first error.
type ldapReader struct {
	get keys
	err error
}

func (r *ldapReader) fault(name, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s%s: %s", ldapPrefix, name, fmt.Sprintf(format, args...))
	}
}

func (r *ldapReader) text(name, def string) string {
	if v := r.get(ldapPrefix + name); v != "" {
		return v
	}
	return def
}

func (r *ldapReader) number(name string, def, least, most int) int {
	v := r.get(ldapPrefix + name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		r.fault(name, "%q is not a number from %d to %d", v, least, most)
		return def
	}
	return n
}

func (r *ldapReader) millis(name string, def int) time.Duration {
	return time.Duration(r.number(name, def, 1, 3_600_000)) * time.Millisecond
}

func (r *ldapReader) bool(name string) bool { return strings.EqualFold(r.get(ldapPrefix+name), "true") }

func readLDAP(get keys) (*ldapConfig, error) {
	r := &ldapReader{get: get}
	base := r.text(".base", "")
	c := &ldapConfig{
		userBase: r.text(".userbase", base), groupBase: r.text(".groupbase", base),
		userFilter:       r.text(".search.filter.user", "(&(objectClass=user)(sAMAccountName={0}))"),
		groupFilter:      r.text(".search.filter.group", "(objectClass=group)"),
		filterAttributes: hadoopconf.List(r.text(".group.search.filter.pattern", "")),
		memberOf:         r.text(".search.attr.memberof", ""), member: r.text(".search.attr.member", "member"),
		groupName: r.text(".search.attr.group.name", "cn"),
		uid:       r.text(".posix.attr.uid.name", "uidNumber"), gid: r.text(".posix.attr.gid.name", "gidNumber"),
		levels:  r.number(".search.group.hierarchy.levels", 0, 0, 100),
		connect: r.millis(".connection.timeout.ms", 60_000), read: r.millis(".read.timeout.ms", 60_000),
		search:   r.millis(".directory.search.timeout", 10_000),
		attempts: r.number(".num.attempts", 3, 1, 100),
	}
	c.beforeAnother = r.number(".num.attempts.before.failover", 3, 1, 100)
	c.posix = strings.Contains(c.groupFilter, "posixGroup") && strings.Contains(c.userFilter, "posixAccount")
	for _, name := range []string{".search.filter.user", ".search.filter.group"} {
		filter := c.userFilter
		if name == ".search.filter.group" {
			filter = c.groupFilter
		}
		if _, err := ldap.CompileFilter(fill(filter, c.filterAttributes...)); err != nil {
			r.fault(name, "%q is not a filter: %v", filter, err)
		}
	}
	r.readServers(c)
	r.readUsers(c)
	return c, r.err
}

func (r *ldapReader) readServers(c *ldapConfig) {
	ssl := r.bool(".ssl")
	c.startTLS = r.bool(".start-tls")
	for _, text := range hadoopconf.List(r.text(".url", "")) {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "ldap" && u.Scheme != "ldaps" {
			r.fault(".url", "%q is not ldap://HOST[:PORT] or ldaps://HOST[:PORT]", text)
			return
		}
		if u.Scheme == "ldap" && ssl {
			u.Scheme = "ldaps"
		}
		if u.Port() == "" {
			u.Host += map[string]string{"ldap": ":389", "ldaps": ":636"}[u.Scheme]
		}
		if u.Scheme == "ldaps" && c.startTLS {
			r.fault(".start-tls", "%s has TLS from the first byte; use ldap://, or leave this key out", text)
		}
		c.urls = append(c.urls, u.Scheme+"://"+u.Host)
		ssl = ssl || u.Scheme == "ldaps"
	}
	if len(c.urls) == 0 {
		r.fault(".url", "is missing: write ldap://HOST, or several separated by commas")
	}
	if ssl || c.startTLS {
		c.tls = r.readTLS()
	}
}

// maxSecretFile limits a file with a password or certificates, in bytes.
const maxSecretFile = 1 << 20

// readTLS reads the trusted certificates and the client's own certificate, as PEM. It does not read
// Java key stores.
func (r *ldapReader) readTLS() *tls.Config {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	const pem = "%s has no certificate as PEM; keytool -exportcert -rfc writes one from a Java store"
	if path := r.text(".ssl.truststore", ""); path != "" {
		b, err := hadoopconf.ReadFile(path, maxSecretFile)
		out.RootCAs = x509.NewCertPool()
		if err != nil {
			r.fault(".ssl.truststore", "%v", err)
		} else if !out.RootCAs.AppendCertsFromPEM(b) {
			r.fault(".ssl.truststore", pem, path)
		}
	}
	if path := r.text(".ssl.keystore", ""); path != "" {
		b, err := hadoopconf.ReadFile(path, maxSecretFile)
		if err != nil {
			r.fault(".ssl.keystore", "%v", err)
			return out
		}
		cert, err := tls.X509KeyPair(b, b)
		if err != nil {
			r.fault(".ssl.keystore", "%s has no certificate with its key as PEM: %v", path, err)
		}
		out.Certificates = []tls.Certificate{cert}
	}
	return out
}

func (r *ldapReader) readUsers(c *ldapConfig) {
	aliases := hadoopconf.List(r.text(".bind.users", ""))
	for _, alias := range aliases {
		u := r.readUser(".bind.users." + alias)
		if u.name == "" || u.password == "" {
			r.fault(".bind.users", "user %q has no name or no password; set %s.bind.users.%s.bind.user and .bind.password.file",
				alias, ldapPrefix, alias)
		}
		c.users = append(c.users, u)
	}
	if len(aliases) == 0 {
		c.users = []bindUser{r.readUser("")}
	}
}

func (r *ldapReader) readUser(prefix string) bindUser {
	u := bindUser{name: r.text(prefix+".bind.user", ""), password: r.text(prefix+".bind.password", "")}
	if u.password != "" {
		return u
	}
	path := r.text(prefix+".bind.password.file", "")
	if path == "" {
		if r.text(prefix+".bind.password.alias", "") != "" {
			r.fault(prefix+".bind.password.alias",
				"Java's credential stores are not read; put the password into a file and set %s%s.bind.password.file",
				ldapPrefix, prefix)
		}
		return u
	}
	b, err := hadoopconf.ReadFile(path, maxSecretFile)
	if err != nil {
		r.fault(prefix+".bind.password.file", "%v", err)
	}
	u.password = strings.TrimSpace(string(b))
	return u
}

// fill replaces {0}, {1} … in a filter with escaped values.
func fill(filter string, values ...string) string {
	if len(values) == 0 {
		values = []string{"x"}
	}
	pairs := make([]string, 0, 2*len(values))
	for i, v := range values {
		pairs = append(pairs, fmt.Sprintf("{%d}", i), ldap.EscapeFilter(v))
	}
	return strings.NewReplacer(pairs...).Replace(filter)
}
