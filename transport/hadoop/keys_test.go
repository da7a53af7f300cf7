package hadoop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
)

// families are the prefixes of Hadoop's keys.
var families = []string{"yarn.", "hadoop.", "ipc.", "net.topology."}

// written returns the keys that occur as string constants in the Go files of dirs, each with a file
// that contains it. Of a key that the code concatenates, it returns only the constant parts.
func written(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasSuffix(path, ".pb.go") || d.Name() == "keys.go" {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil && isKey(s) {
						out[s] = path
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func isKey(s string) bool {
	return !strings.ContainsAny(s, " %:;/=\n") &&
		slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(s, f) && len(s) > len(f) })
}

// TestKeyTableMatchesSources compares the table with the sources: the sources read every key of the
// table, and the table contains every key that the sources read.
func TestKeyTableMatchesSources(t *testing.T) {
	found := written(t, ".", "../../server", "../../config", "../../internal/principal")
	prefixes := map[string][]string{ // prefixes of the keys that the sources concatenate
		"yarn.resourcemanager.nodes.":     {"include-path", "exclude-path"},
		"hadoop.proxyuser.":               {""},
		"yarn.resourcemanager.proxyuser.": {""},
	}
	found["hadoop.security.group.mapping."] = "put together in package groups"
	for _, key := range []string{"hadoop.security.authentication", "hadoop.rpc.protection",
		"hadoop.security.saslproperties.resolver.class"} {
		delete(found, key) // another value than the natural ones is fatal
	}
	delete(found, "hadoop.conf_dir") // rmd's own
	delete(found, "hadoop.connections")
	delete(found, "hadoop.ports")
	delete(found, "yarn.resourcemanager.address.") // with the id of a replica
	delete(found, "yarn.resourcemanager.")         // of keys that replicas need not have alike
	delete(found, "hadoop.connections_per_address")
	for prefix, names := range prefixes {
		if _, ok := found[prefix]; !ok {
			t.Errorf("nothing is read under %s", prefix)
		}
		delete(found, prefix)
		for _, name := range names {
			found[prefix+name] = "put together"
		}
	}
	for key, path := range found {
		if !Honored(key) && !capacity.Relevant(key) {
			t.Errorf("%s is read in %s, and not in the table", key, path)
		}
	}
	for _, key := range append(slices.Clone(honored), replicaKeys...) {
		if _, ok := found[key]; !ok {
			t.Errorf("%s is in the table, and nothing reads it", key)
		}
	}
	if !slices.IsSorted(honored) || !slices.IsSorted(replicaKeys) ||
		!slices.IsSortedFunc(concerns, func(a, b part) int { return strings.Compare(a.name, b.name) }) {
		t.Error("a table is not in order")
	}
	for name := range natural {
		if concern(name).why == "" {
			t.Errorf("%s would not be listed anyway", name)
		}
	}
}

func TestIgnoredKeys(t *testing.T) {
	conf := read(t, "yarn.resourcemanager.store.class", "ZKRMStateStore", "yarn.resourcemanager.zk-address", "zk1:2181",
		"yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.hostname.rm1", "h1",
		"yarn.resourcemanager.hostname.rm1.x", "odd",
		"yarn.nodemanager.aux-services", "mapreduce_shuffle", "fs.defaultFS", "hdfs://nn",
		"yarn.client.failover-sleep-base-ms", "50",
		"yarn.resourcemanager.connect.retry-interval.ms", "200", "yarn.scheduler.capacity.root.queues", "default",
		"yarn.node-labels.enabled", "true", "yarn.node-labels.fs-store.root-dir", "hdfs:///labels",
		"hadoop.security.authentication", "certificate", "hadoop.proxyuser.oozie.hosts", "*",
		"yarn.resourcemanager.scheduler.monitor.enable", "true",
		"yarn.resourcemanager.color", "red", "mapreduce.framework.name", "yarn", "yarn.resourcemanager.ha.enabled", "true")
	var got []string
	for _, k := range IgnoredKeys(conf, capacity.Relevant) {
		got = append(got, k.Name)
		if k.Why == "" || k.Origin == "" {
			t.Errorf("ignored key %s: why %q, origin %q, want both", k.Name, k.Why, k.Origin)
		}
	}
	want := []string{"hadoop.security.authentication", "yarn.node-labels.fs-store.root-dir", "yarn.resourcemanager.color",
		"yarn.resourcemanager.hostname.rm1.x",
		"yarn.resourcemanager.store.class", "yarn.resourcemanager.zk-address"}
	if !slices.Equal(got, want) {
		t.Errorf("ignored are\n%v, not\n%v", got, want)
	}
}

// TestFatalKeys checks which values must stop the start, and that each has a remedy.
func TestFatalKeys(t *testing.T) {
	for _, c := range []struct {
		name, value string
		fatal       bool
	}{
		{"hadoop.security.authentication", "certificate", true}, {"hadoop.security.authentication", "simple", false},
		{"hadoop.security.authentication", "kerberos", false},
		{"hadoop.security.saslproperties.resolver.class", "com.example.Resolver", true},
		{"hadoop.security.saslproperties.resolver.class", whitelistResolver, false},
		{"hadoop.security.saslproperties.resolver.class", ingressResolver, false},
		{"hadoop.security.sasl.mechanism", "SCRAM-SHA-256", true}, {"hadoop.security.sasl.mechanism", "DIGEST-MD5", false},
		{"hadoop.security.secret-manager.key-generator.algorithm", "HmacMD5", true},
		{"hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA256", false},
		{"hadoop.rpc.protection", "secrecy", true}, {"hadoop.rpc.protection", "privacy,authentication", false},
		{"hadoop.rpc.protection", "Privacy", false},
		{"yarn.authorization-provider", "org.apache.ranger.authorization.yarn.authorizer.RangerYarnAuthorizer", true},
		{"yarn.resourcemanager.scheduler.class",
			"org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler", true},
		{"yarn.resourcemanager.scheduler.class",
			"org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler", true},
		{"yarn.resourcemanager.scheduler.class",
			"org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler", false},
		{"yarn.resourcemanager.zk-address", "zk1:2181", false},
	} {
		got := FatalKeys(read(t, c.name, c.value), capacity.Relevant)
		if (len(got) == 1) != c.fatal || c.fatal && (got[0].Do == "" || got[0].Name != c.name) {
			t.Errorf("%s = %s: fatal keys %+v, want fatal: %v", c.name, c.value, got, c.fatal)
		}
	}
}

// TestFatalKeysHaveRemedies checks the table.
func TestFatalKeysHaveRemedies(t *testing.T) {
	for _, c := range concerns {
		if (c.effect == Fatal) != (c.do != "") || c.effect != Harmless && c.why == "" {
			t.Errorf("the row of %s has the effect %s, the reason %q and the remedy %q", c.name, c.effect, c.why, c.do)
		}
	}
}

// read returns a configuration with the given names and values.
func read(t *testing.T, pairs ...string) *hadoopconf.Config {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>")
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("<property><name>" + pairs[i] + "</name><value>" + pairs[i+1] + "</value></property>")
	}
	b.WriteString("</configuration>")
	c, err := hadoopconf.Parse(strings.NewReader(b.String()), "yarn-site.xml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}
