package harness

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHadoopFiles checks that every replica has its own four ports in Hadoop's files, and that its
// rmd.yaml names these files.
func TestHadoopFiles(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Binary, cfg.Dir, cfg.Replicas, cfg.Spare = "/bin/true", t.TempDir(), 3, 1
	c, err := Open(cfg, Offer{Network: Loopback, Disk: Directory})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := map[string]bool{}
	for _, name := range []string{"core-site.xml", "yarn-site.xml", "capacity-scheduler.xml"} {
		b, err := os.ReadFile(filepath.Join(c.hadoopDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Properties []struct {
				Name  string `xml:"name"`
				Value string `xml:"value"`
			} `xml:"property"`
		}
		if err := xml.Unmarshal(b, &doc); err != nil {
			t.Errorf("%s is not valid XML: %v", name, err)
		}
		for _, p := range doc.Properties {
			if seen[p.Name] || p.Value == "" {
				t.Errorf("%s: %s is %q, or there twice", name, p.Name, p.Value)
			}
			seen[p.Name] = true
		}
	}
	ports := map[string]bool{}
	for _, r := range c.Replicas {
		for _, at := range slices.Concat(r.Place.Hadoop.All(),
			[]string{r.Place.Peer, r.Place.PeerListen, r.Place.HTTP, r.Place.HTTPListen}) {
			if ports[at] {
				t.Errorf("two ports at %s", at)
			}
			ports[at] = true
		}
		if !seen["yarn.resourcemanager.resource-tracker.address."+r.ID] {
			t.Errorf("%s has no port for NodeManagers", r.ID)
		}
		if text, err := os.ReadFile(r.Config); err != nil || !strings.Contains(string(text), "conf_dir: "+c.hadoopDir()) {
			t.Errorf("%s does not read Hadoop's files: %v", r.ID, err)
		}
	}
	if got := c.Trackers(); len(got) != 3 {
		t.Errorf("ports for NodeManagers: %v", got)
	}
}

// TestPortBlock checks that two runs at a time use different blocks of ports, and that a released
// block can be taken again.
func TestPortBlock(t *testing.T) {
	var a, b portBlock
	defer a.release()
	x, err := a.take(50)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.take(50)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range x {
		if slices.Contains(y, p) || p < portsFirst || p >= portsEnd {
			t.Errorf("port %d", p)
		}
	}
	if _, err := a.take(portsBlock); err == nil {
		t.Error("more ports than a block has")
	}
	at := b.first
	b.release()
	b = portBlock{}
	if _, err := b.take(1); err != nil || b.first > at {
		t.Errorf("a block that was given back is not taken: %d, %v", b.first, err)
	}
	b.release()
}
