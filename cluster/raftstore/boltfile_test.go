package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// TestBoltFile checks that checkBoltFile accepts valid stores and detects structural damage.
func TestBoltFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), fileLog)
	if err := checkBoltFile(path); err != nil {
		t.Fatalf("a store that is not there: %v", err)
	}
	db, err := bbolt.Open(path, 0o600, boltOptions(false))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		err := db.Update(func(tx *bbolt.Tx) error {
			for _, name := range []string{"logs", "conf"} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				for k := range 20 {
					if name == "conf" && k > 2 {
						break // so that the bucket stays inside its page
					}
					if err := b.Put(fmt.Appendf(nil, "%06d", i*20+k), make([]byte, 100*(k+1)*(k%5))); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkBoltFile(path); err != nil {
		t.Fatalf("a whole store: %v", err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkBoltFile(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("checkBoltFile, %s: %v, want %v", what, err, ErrDamaged)
		}
	}
	damaged("cut off", whole[:len(whole)/3])
	damaged("of something else", make([]byte, 65536))
	b := &boltFile{path: path, seen: map[uint64]bool{}}
	if b.f, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	defer b.f.Close()
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := b.meta()
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]int64{"page id": 0, "flags": 8, "count": 11, "overflow": 15} {
		x := append([]byte(nil), whole...)
		x[int64(root)*b.pageSize+at] ^= 0x40
		damaged(what, x)
	}
}

// TestBoltDisorder checks that checkBoltFile detects keys that are out of order. bbolt would panic
// in a goroutine of its own when it opens such a store.
func TestBoltDisorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), fileLog)
	b, err := openBolt(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 2000; i++ {
		if err := b.StoreLogs([]*raft.Log{{Index: i, Term: 1, Data: make([]byte, 100)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkBoltFile(path); err != nil {
		t.Fatalf("a whole store: %v", err)
	}
	for i := uint64(2); i < 2000; i += 37 { // if the last key is replaced, the order is still right
		bad := bytes.Clone(whole)
		// every occurrence, in leaves and branches, in current and old pages
		for key, at := binary.BigEndian.AppendUint64(nil, i), 0; ; at++ {
			found := bytes.Index(bad[at:], key)
			if found < 0 {
				break
			}
			at += found
			bad[at+1] = 4
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkBoltFile(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("key %d: %v", i, err)
		}
	}
}
