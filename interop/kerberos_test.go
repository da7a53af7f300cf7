//go:build interop

package interop

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/internal/gss/gsstest"
	"rmd/interop/harness"
)

// TestKerberos runs a job of DistributedShell on a cluster behind Kerberos, with each protection.
// NodeManagers and the client have tickets, the ApplicationMaster and the launcher have tokens.
func TestKerberos(t *testing.T) {
	for _, protection := range []string{"authentication", "integrity", "privacy"} {
		t.Run(protection, func(t *testing.T) {
			k := gsstest.StartKDC(t)
			if _, err := exec.LookPath("kinit"); err != nil {
				t.Skip("there is no kinit: install krb5-user")
			}
			extra := t.TempDir()
			hadoopFile(t, filepath.Join(extra, "core-site.xml"), map[string]string{
				"hadoop.security.authentication": "kerberos",
				"hadoop.rpc.protection":          protection,
			})
			hadoopFile(t, filepath.Join(extra, "yarn-site.xml"), map[string]string{
				"yarn.resourcemanager.principal": "rm/localhost@TEST",
				"yarn.resourcemanager.keytab":    k.Keytab("rm/localhost"),
				"yarn.nodemanager.principal":     "nm/localhost@TEST",
				"yarn.nodemanager.keytab":        k.Keytab("nm/localhost"),
				"yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_CONF_DIR,JAVA_TOOL_OPTIONS",
			})
			cache := k.Path("cache")
			k.Run("kinit", "-c", cache, "-kt", k.Keytab("ann"), "ann")
			c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Nodes: 1, Extra: extra, Environment: []string{
				"KRB5_CONFIG=" + k.Path("krb5.conf"), "KRB5CCNAME=" + cache, "JAVA_TOOL_OPTIONS=-Djava.security.krb5.conf=" + k.Path("krb5.conf"),
			}})
			if out := c.Yarn("node", "-list"); !strings.Contains(out.Out, "Total Nodes:1") {
				t.Errorf("yarn node -list: %s", out.Out)
			}
			succeeded(t, c.StartShell(harness.Shell{Containers: 2, Command: "date", Within: 3 * time.Minute}).Wait())
		})
	}
}

// hadoopFile writes a file of Hadoop's configuration.
func hadoopFile(t *testing.T, path string, properties map[string]string) {
	t.Helper()
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	var doc struct {
		XMLName    xml.Name   `xml:"configuration"`
		Properties []property `xml:"property"`
	}
	for name, value := range properties {
		doc.Properties = append(doc.Properties, property{name, value})
	}
	b, err := xml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
