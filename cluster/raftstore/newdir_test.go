package raftstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"rmd/cluster/identity"
)

// TestNewDirIsWholeOrNothing interrupts NewDir after each of its steps. Without an identity the
// next NewDir starts again; with one the directory belongs to a replica.
func TestNewDirIsWholeOrNothing(t *testing.T) {
	fill := func(folder string) error {
		d, err := OpenDir(folder, identity.Identity{ID: "rm1", ClusterName: "c"})
		if err != nil {
			return err
		}
		st, err := OpenOffline(d, nil)
		return errors.Join(err, st.Close(), d.Close(true))
	}
	whole := filepath.Join(t.TempDir(), "data")
	if err := NewDir(whole, fill); err != nil {
		t.Fatal(err)
	}
	if err := NewDir(whole, fill); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("over a replica: %v", err)
	}
	entries, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}
	for kept := 0; kept < len(entries); kept++ { // as if killed after kept files had been moved
		dir := t.TempDir()
		if err := fill(filepath.Join(dir, dirUnfinished)); err != nil {
			t.Fatal(err)
		}
		moved := 0
		for _, e := range entries {
			if e.Name() != fileIdentity && moved < kept {
				moved++
				if err := os.Rename(filepath.Join(dir, dirUnfinished, e.Name()), filepath.Join(dir, e.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := OpenExisting(dir, true); !errors.Is(err, ErrNoData) {
			t.Errorf("%d moved: a replica is there: %v", moved, err)
		}
		if err := NewDir(dir, fill); err != nil {
			t.Errorf("%d moved: %v", moved, err)
		}
		if got, err := os.ReadDir(dir); err != nil || len(got) != len(entries) {
			t.Errorf("%d moved: %v %v", moved, got, err)
		}
	}
	failing := t.TempDir()
	if err := NewDir(failing, func(string) error { return errors.New("no") }); err == nil {
		t.Error("a failure is not told")
	}
	if left, _ := os.ReadDir(failing); len(left) != 0 {
		t.Errorf("a failure leaves %v", left)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, fileLog), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewDir(foreign, fill); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("over another's log: %v", err)
	}
}
