package harness

import (
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// newLogged returns a replica that does not run and has a log with entries 1 to n.
func newLogged(t *testing.T, n uint64) *Replica {
	t.Helper()
	r := &Replica{ID: "rm1", Dir: t.TempDir(), cluster: &Cluster{cfg: Config{Dir: t.TempDir()}}}
	db, err := bbolt.Open(filepath.Join(r.Dir, logName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("logs"))
		for i := uint64(1); i <= n && err == nil; i++ {
			err = b.Put(stored(t, i, 1, 0, "events"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLogFrom checks that LogFrom reads the entries from an index on and removes its copy of the
// file, and that damaged pages lead to an error instead of a panic.
func TestLogFrom(t *testing.T) {
	r := newLogged(t, 300)
	got, err := r.LogFrom(298)
	if err != nil || len(got) != 3 || got[0].Index != 298 || got[2].Index != 300 {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	if all, err := r.Log(); err != nil || len(all) != 300 {
		t.Errorf("%d entries, %v", len(all), err)
	}
	if none, err := r.LogFrom(301); err != nil || len(none) != 0 {
		t.Errorf("%d entries behind the end, %v", len(none), err)
	}
	if left, err := os.ReadDir(r.cluster.cfg.Dir); err != nil || len(left) != 0 {
		t.Errorf("%d copies are left over, %v", len(left), err)
	}
	file := filepath.Join(r.Dir, logName)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := 2 * os.Getpagesize(); at < len(b); at += 8 { // all pages except both meta pages
		b[at] ^= 0xff
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.LogFrom(1); err == nil {
		t.Error("a log of damaged pages is read")
	}
}
