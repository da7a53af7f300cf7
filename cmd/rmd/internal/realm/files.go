// Package realm makes what commands need of Kerberos: the files of a new cluster, the commands of
// kadmin for its keytabs, and the login of an import at ZooKeeper.
package realm

import (
	"bytes"
	"net"
	"path/filepath"
	"regexp"
	"strings"

	"rmd/cmd/internal/clierr"
	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/access"
)

// Files describes what "rmd init --kerberos" adds to Hadoop's files of a cluster. The zero value adds
// nothing.
type Files struct {
	realm  string
	keytab string                 // on each machine of a replica
	conf   func(id string) string // the directory of Hadoop's files there
}

// Replica is one replica.
type Replica struct{ ID, Host string }

// The parts of principals before the host, and the user who administers YARN.
const (
	managerService = "rm"
	webService     = "HTTP"
	nodeService    = "nm"
	yarnAdmin      = "yarn"
)

// installed is where the files of a replica are on a machine of its own.
const installed = "/etc/rmd"

var realmName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// New returns the files for a realm, or those without Kerberos if it is empty. If local, all replicas
// run on this machine in the directory dir. below is the part of Hadoop's files in the directory of a
// replica.
func New(realm string, replicas []Replica, local bool, dir, below string) (Files, error) {
	if realm == "" {
		return Files{}, nil
	}
	if !realmName.MatchString(realm) {
		return Files{}, clierr.Usagef("write --kerberos EXAMPLE.COM", "%q is not a realm", realm)
	}
	for _, r := range replicas {
		if net.ParseIP(r.Host) != nil {
			return Files{}, clierr.Usagef("write "+r.ID+"=HOST.EXAMPLE.COM",
				"%s: Kerberos knows machines by name, and %s is an address", r.ID, r.Host)
		}
	}
	if !local {
		return Files{realm, filepath.Join(installed, "rmd.keytab"),
			func(string) string { return filepath.Join(installed, below) }}, nil
	}
	dir, err := filepath.Abs(dir)
	return Files{realm, filepath.Join(dir, "rmd.keytab"), func(id string) string { return filepath.Join(dir, id, below) }},
		err
}

// Of returns what Hadoop's files of a replica say. local and dir are as in New.
func Of(conf *hadoopconf.Config, local bool, dir, below string) Files {
	_, realm, _ := strings.Cut(conf.Value("yarn.resourcemanager.principal", ""), "@")
	f, _ := New(realm, nil, local, dir, below) // a realm that rmd has not written is not shown
	f.keytab = conf.Value("yarn.resourcemanager.keytab", "")
	return f
}

// on returns the principal of a service on a host.
func (f Files) on(service, host string) string { return service + "/" + host + "@" + f.realm }

// Site returns the keys for yarn-site.xml.
func (f Files) Site() []hadoopconf.Property {
	if f.realm == "" {
		return nil
	}
	return []hadoopconf.Property{
		{Name: "yarn.resourcemanager.principal", Value: f.on(managerService, "_HOST")},
		{Name: "yarn.resourcemanager.keytab", Value: f.keytab},
		{Name: "yarn.resourcemanager.webapp.spnego-principal", Value: f.on(webService, "_HOST")},
		{Name: "yarn.resourcemanager.webapp.spnego-keytab-file", Value: f.keytab},
		{Name: "yarn.nodemanager.principal", Value: f.on(nodeService, "_HOST")},
		{Name: "yarn.nodemanager.keytab", Value: "/etc/security/keytabs/nm.keytab"},
		{Name: "yarn.acl.enable", Value: "true"}, {Name: "yarn.admin.acl", Value: yarnAdmin},
	}
}

// Others returns Hadoop's other files by name: who is asked to log in, and who may use which port.
func (f Files) Others() (map[string][]byte, error) {
	if f.realm == "" {
		return nil, nil
	}
	out := map[string][]byte{}
	for name, keys := range map[string][]hadoopconf.Property{
		"core-site.xml": {
			{Name: "hadoop.security.authentication", Value: "kerberos"}, {Name: "hadoop.security.authorization", Value: "true"},
			{Name: "hadoop.http.authentication.type", Value: "kerberos"},
		},
		access.PolicyFile: {
			{Name: "security.resourcetracker.protocol.acl", Value: nodeService},
			{Name: "security.resourcemanager-administration.protocol.acl", Value: yarnAdmin},
			{Name: "security.ha.service.protocol.acl", Value: yarnAdmin},
		},
	} {
		var b bytes.Buffer
		if err := hadoopconf.Write(&b, keys); err != nil {
			return nil, err
		}
		out[name] = b.Bytes()
	}
	return out, nil
}

// commands returns the commands of kadmin that make the keytab of a replica. The keytab is a secret,
// so they are run by who may make principals, and on the replica's own machine.
func (f Files) commands(r Replica) []string {
	rm, web := f.on(managerService, r.Host), f.on(webService, r.Host)
	return []string{"addprinc -randkey " + rm, "addprinc -randkey " + web, "ktadd -k " + f.keytab + " " + rm + " " + web}
}

// Show says what Kerberos needs beside the files.
func (f Files) Show(say func(format string, args ...any), replicas ...Replica) {
	if f.realm == "" {
		return
	}
	for _, r := range replicas {
		say("On %s, make the keytab (kadmin asks for an administrator's password):", r.Host)
		for _, line := range f.commands(r) {
			say("  kadmin -q %q", line)
		}
		say("  chown rmd %s && chmod 400 %[1]s", f.keytab)
		say("  rmd check --kerberos --conf-dir %s --id %s", f.conf(r.ID), r.ID)
	}
	say("Each NodeManager needs %s in /etc/security/keytabs/nm.keytab, and administrators the principal %s@%s.",
		f.on(nodeService, "HOST"), yarnAdmin, f.realm)
	say("/etc/krb5.conf of every machine needs in [libdefaults]: default_realm = %s", f.realm)
}
