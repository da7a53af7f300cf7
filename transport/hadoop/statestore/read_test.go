package statestore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// record names the ZooKeeper from which TestRecord makes the fixture.
var record = flag.String("record", "", "HOST:PORT of the ZooKeeper whose state store becomes testdata/zk.txt")

const fixture = "testdata/zk.txt"

// znodes is a tree of znodes in memory. The keys are paths.
type znodes map[string][]byte

func (z znodes) Get(path string) ([]byte, bool, error) {
	b, ok := z[path]
	return b, ok, nil
}

func (z znodes) Children(parent string) (names []string, err error) {
	for p := range z {
		if path.Dir(p) == parent && p != parent {
			names = append(names, path.Base(p))
		}
	}
	return names, nil
}

// TestRecord writes the fixture. It runs only with -record.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("without -record")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	z, err := connect(ctx, Config{Servers: []string{*record}}, &guards{left: maxBytes})
	if err != nil {
		t.Fatal(err)
	}
	defer z.close()
	var b bytes.Buffer
	var walk func(at string)
	walk = func(at string) {
		data, _, err := z.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		if path.Base(at) == "caPrivateKey" {
			data = nil
		}
		fmt.Fprintf(&b, "%s %s\n", at, base64.StdEncoding.EncodeToString(data))
		names, err := z.Children(at)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		for _, name := range names {
			walk(path.Join(at, name))
		}
	}
	walk("/rmstore")
	if err := os.WriteFile(fixture, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recorded returns the znodes that a Java ResourceManager of Hadoop 3.4.2 wrote.
func recorded(t testing.TB) znodes {
	t.Helper()
	f, err := os.Open(fixture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := znodes{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxZnode)
	for lines.Scan() {
		at, data, _ := strings.Cut(lines.Text(), " ")
		if z[at], err = base64.StdEncoding.DecodeString(data); err != nil {
			t.Fatal(err)
		}
	}
	return z
}

func TestRecorded(t *testing.T) {
	s, err := Read(recorded(t), "/rmstore")
	if err != nil || len(s.Problems) > 0 {
		t.Fatalf("Read: error %v, problems %v, want neither", err, s.Problems)
	}
	if s.Version != "1.5" || s.Epoch != 1 || s.Sequence != 2 {
		t.Errorf("version %s, epoch %d, sequence %d", s.Version, s.Epoch, s.Sequence)
	}
	if k := s.AMRM; k.Current.ID >= 0 || len(k.Current.Bytes) != 8 || k.Next.ID != 0 {
		t.Errorf("keys of AMs' tokens: %d with %d bytes, next %d", k.Current.ID, len(k.Current.Bytes), k.Next.ID)
	}
	if k := s.DelegationKeys; len(k) != 2 || k[0].ID != 1 || k[1].ID != 2 || len(k[1].Bytes) != 8 {
		t.Errorf("delegation keys: %+v", k)
	}
	if d := s.DelegationTokens; len(d) != 2 || d[0].Renewer != "renewer" || d[1].Renewer != "oozie" ||
		d[1].Sequence != 2 || d[1].KeyID != 2 || d[1].ExpiresMillis <= d[1].IssuedMillis {
		t.Errorf("delegation tokens: %+v", d)
	}
	var got []string
	for _, a := range s.Applications {
		line := fmt.Sprintf("%s %s %d", a.ID, a.User, a.State)
		for _, at := range a.Attempts {
			line += fmt.Sprintf(" (%d %d %d %s %d %d)", at.Number, at.Master, at.State, at.Final, at.ExitStatus,
				len(at.ResourceSeconds))
		}
		got = append(got, line)
	}
	want := []string{
		"application_1795453977887_0001 root 4 (1 1 4 SUCCEEDED -1000 2)",
		"application_1795453977887_0002 root 4 (1 1 4 FAILED -1000 2)",
		"application_1795453977887_0003 root 0 (1 1 0 UNDEFINED -1000 2)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("applications:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	apps  = "/rmstore/ZKRMStateRoot/RMAppRoot/"
	split = apps + "HIERARCHIES/2/application_1795453977887_00/03"
)

// move moves a znode and its descendants to another path.
func (z znodes) move(from, to string) {
	for p, b := range z {
		if strings.HasPrefix(p, from) {
			delete(z, p)
			z[to+strings.TrimPrefix(p, from)] = b
		}
	}
}

// TestLayouts reads the same applications and tokens at every split index (*-znode-split-index).
func TestLayouts(t *testing.T) {
	const tokens = "/rmstore/ZKRMStateRoot/RMDTSecretManagerRoot/RMDelegationTokensRoot/"
	for app, token := range map[string]string{
		"application_1795453977887_0003":                "RMDelegationToken_2",
		"HIERARCHIES/1/application_1795453977887_000/3": "1/RMDelegationToken_000/2",
		"HIERARCHIES/3/application_1795453977887_0/003": "3/RMDelegationToken_0/002",
		"HIERARCHIES/4/application_1795453977887_/0003": "4/RMDelegationToken_/0002",
	} {
		z := recorded(t)
		z.move(split, apps+app)
		z[apps+path.Dir(app)] = nil
		z.move(tokens+"RMDelegationToken_2", tokens+token)
		z[tokens+path.Dir(token)] = nil
		s, err := Read(z, "/rmstore")
		if err != nil || len(s.Problems) > 0 || len(s.Applications) != 3 || len(s.Applications[2].Attempts) != 1 ||
			len(s.DelegationTokens) != 2 {
			t.Errorf("Read of %s, %s: %v, %+v, want 3 applications, 2 tokens and no problems",
				app, token, err, s)
		}
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(z znodes)
		want string
	}{
		"no store": {func(z znodes) {
			delete(z, "/rmstore/ZKRMStateRoot/RMVersionNode")
		}, "not the state store of a ResourceManager"},
		"newer": {func(z znodes) {
			z["/rmstore/ZKRMStateRoot/RMVersionNode"] = []byte{8, 1, 16, 6}
		}, "the state store has version 1.6; this rmd reads 1.0 to 1.5"},
		"damaged": {func(z znodes) {
			z[split] = []byte("x")
		}, "application_1795453977887_0003: its znode is not an ApplicationStateDataProto"},
		"state": {func(z znodes) {
			z[split] = append(z[split], 5<<3, 42)
		}, "application_1795453977887_0003: state 42 is not known"},
		"attempt state": {func(z znodes) {
			at := split + "/appattempt_1795453977887_0003_000001"
			z[at] = append(z[at], 4<<3, 42)
		}, "application_1795453977887_0003: appattempt_1795453977887_0003_000001: attempt state 42 is not known"},
		"final status": {func(z znodes) {
			at := split + "/appattempt_1795453977887_0003_000001"
			z[at] = append(z[at], 8<<3, 9)
		}, "final status 9 is not known"},
		"another's": {func(z znodes) {
			z.move(split, apps+"application_1_0003")
		}, "application_1_0003: its znode has the context of application_1795453977887_0003"},
		"epoch": {func(z znodes) {
			z["/rmstore/ZKRMStateRoot/EpochNode"] = []byte{8, 0x80, 0x80, 0x80, 4}
		}, "EpochNode: the epoch is 8388608; it must be from 0 to 8388607"},
		"no epoch": {func(z znodes) {
			z["/rmstore/ZKRMStateRoot/EpochNode"] = []byte("x")
		}, "EpochNode: the epoch is not readable: proto:"},
		"keys": {func(z znodes) {
			z["/rmstore/ZKRMStateRoot/AMRMTokenSecretManagerRoot"] = []byte{10, 0}
		}, "the keys of AMs' tokens are incomplete"},
		"key": {func(z znodes) {
			z["/rmstore/ZKRMStateRoot/RMDTSecretManagerRoot/RMDTMasterKeysRoot/DelegationKey_1"] = []byte{1}
		}, "DelegationKey_1: malformed"},
		"token": {func(z znodes) {
			z["/rmstore/ZKRMStateRoot/RMDTSecretManagerRoot/RMDelegationTokensRoot/RMDelegationToken_1"] = nil
		}, "RMDelegationToken_1: its sequence number is 0"},
		"plan": {func(z znodes) {
			z["/rmstore/ZKRMStateRoot/ReservationSystemRoot/dedicated"] = nil
			z["/rmstore/ZKRMStateRoot/ReservationSystemRoot/dedicated/reservation_1_0001"] = nil
		}, "reservation_1_0001: it is a reservation in plan dedicated"},
		"large": {func(z znodes) { z[split] = make([]byte, maxZnode+1) }, "at most 16777216 are read"},
	} {
		z := recorded(t)
		c.edit(z)
		s, err := Read(z, "/rmstore")
		got := fmt.Sprint(err)
		if err == nil {
			got = ""
			for _, p := range s.Problems {
				got += p.Name + ": " + p.What
				if p.Do == "" {
					t.Errorf("%s: no remedy for %q", name, p.What)
				}
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q does not say %q", name, got, c.want)
		}
	}
}

// FuzzDecode passes any bytes to every decoder of a znode.
func FuzzDecode(f *testing.F) {
	for _, b := range recorded(f) {
		f.Add(b)
	}
	base := recorded(f)
	base.move(split, apps+"application_1795453977887_0003")
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, leaf := range []string{
			"RMVersionNode", "EpochNode", "AMRMTokenSecretManagerRoot", "RMDTSecretManagerRoot/RMDTSequentialNumber",
			"RMDTSecretManagerRoot/RMDTMasterKeysRoot/DelegationKey_1",
			"RMDTSecretManagerRoot/RMDelegationTokensRoot/RMDelegationToken_1",
			"RMAppRoot/application_1795453977887_0003",
			"RMAppRoot/application_1795453977887_0003/appattempt_1795453977887_0003_000001",
		} {
			z := maps.Clone(base)
			z["/rmstore/ZKRMStateRoot/"+leaf] = b
			s, err := Read(z, "/rmstore")
			if err != nil {
				continue
			}
			for _, p := range s.Problems {
				if p.Name == "" || p.What == "" || p.Do == "" {
					t.Errorf("problem = %+v, want a name, what is wrong and what to do", p)
				}
			}
		}
	})
}
