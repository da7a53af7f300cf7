package harness

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// KDC is a running KDC.
type KDC interface {
	// Keytab makes a principal with random keys, and returns the path of its keytab.
	Keytab(principal string) string
	// Path returns the path of a file of the KDC, such as krb5.conf.
	Path(name string) string
	// Run runs a program of MIT's against the KDC.
	Run(program string, args ...string)
}

// Kerberos puts a cluster behind Kerberos. Its services are of the realm TEST, and clients are ann,
// whose name on the cluster is that of the account that runs the test, because it owns the files of
// all containers.
type Kerberos struct {
	KDC        KDC
	Protection string // hadoop.rpc.protection
	// Users is the KDC of the clients' realm. KDC trusts it. If it is nil, clients are of KDC's realm.
	Users KDC
	// TokenLife is how long a token of the NameNode is valid unless it is renewed. 0 is a day.
	TokenLife time.Duration
	// TokenMax is the longest life of a token of the NameNode, with all renewals. 0 is a week.
	TokenMax time.Duration
	keytabs  map[string]string
}

// KerberosUser is the principal of clients.
const KerberosUser = "ann"

// Keytab returns the path of the keytab of a principal.
func (k *Kerberos) Keytab(principal string) string {
	if k.keytabs == nil {
		k.keytabs = map[string]string{}
	}
	if k.keytabs[principal] == "" {
		k.keytabs[principal] = k.KDC.Keytab(principal)
	}
	return k.keytabs[principal]
}

// secure logs in the clients of the cluster and sets what every process needs to find the KDC.
// Containers get the configuration of the KDC, but not the ticket.
func (c *Cluster) secure() {
	c.t.Helper()
	k := c.Kerberos
	cache := k.KDC.Path("cache")
	if k.Users == nil {
		k.KDC.Run("kinit", "-c", cache, "-kt", k.Keytab(KerberosUser), KerberosUser)
	} else {
		k.Users.Run("kinit", "-c", cache, "-kt", k.Users.Keytab(KerberosUser), KerberosUser)
	}
	// Hadoop 3.1 asks a package of the JDK for the realm that JDK 17 hides.
	options := "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED -Djava.security.krb5.conf=" +
		k.KDC.Path("krb5.conf")
	if dir, err := native(); err == nil {
		options += " -Djava.library.path=" + filepath.Join(dir, "nativelib", "Linux-"+runtime.GOARCH)
	} else {
		c.t.Logf("%v: MapReduce will not run", err)
	}
	c.Environment = append(c.Environment, "KRB5_CONFIG="+k.KDC.Path("krb5.conf"), "KRB5CCNAME="+cache,
		"JAVA_TOOL_OPTIONS="+options)
}

// principal sets the properties with the principal of a service and its keytab.
func (c *Cluster) principal(s *settings, service, name, keytab string) {
	s.set(name, service+"/localhost@TEST")
	s.set(keytab, c.Kerberos.Keytab(service+"/localhost"))
}

func (c *Cluster) kerberosCore(s *settings) {
	s.set("hadoop.security.authentication", "kerberos")
	s.set("hadoop.security.authorization", "true")
	s.set("hadoop.rpc.protection", c.Kerberos.Protection)
	for _, which := range []string{"hosts", "groups"} { // the ResourceManager gets tokens of HDFS for users
		s.set("hadoop.proxyuser.rm."+which, "*")
	}
	me, err := user.Current()
	if err != nil {
		c.t.Fatal(err)
	}
	// HDFS lets them share folders.
	s.set("hadoop.user.group.static.mapping.overrides",
		me.Username+"=supergroup;jhs=supergroup;nm=supergroup;rm=supergroup")
	s.set("hadoop.security.auth_to_local", fmt.Sprintf(
		"RULE:[1:$1@$0](%s@.*)s/.*/%s/\nRULE:[2:$1@$0](.*@TEST)s/@.*//\nDEFAULT", KerberosUser, me.Username))
}

func (c *Cluster) kerberosYarn(s *settings) {
	c.principal(s, "rm", "yarn.resourcemanager.principal", "yarn.resourcemanager.keytab")
	c.principal(s, "nm", "yarn.nodemanager.principal", "yarn.nodemanager.keytab")
}

// ContainerLogs returns what the containers of an application have written, by the name of the file.
func (c *Cluster) ContainerLogs(app, name string) string {
	var all strings.Builder
	files, err := filepath.Glob(c.path("nm*", "logs", app, "*", name))
	if err != nil {
		return ""
	}
	for _, f := range files {
		b, _ := os.ReadFile(f) // the NodeManager may have removed it
		all.Write(b)
	}
	return all.String()
}
