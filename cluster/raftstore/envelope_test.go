package raftstore

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func FuzzEnvelope(f *testing.F) {
	l := &raft.Log{Index: 7, Term: 3, Type: raft.LogCommand, Data: []byte("data"), Extensions: []byte("ext")}
	f.Add(seal(l).Data, uint64(7), uint64(3))
	f.Add([]byte{}, uint64(1), uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, index, term uint64) {
		var out raft.Log
		in := raft.Log{Index: index, Term: term, Data: b}
		if err := unseal(index, &in, &out); err != nil {
			return
		}
		if again := seal(&out); !bytes.Equal(again.Data, b) {
			t.Fatalf("%x was taken and comes back as %x", b, again.Data)
		}
	})
}

func TestEnvelope(t *testing.T) {
	l := &raft.Log{Index: 7, Term: 3, Type: raft.LogConfiguration, Data: []byte("data"), Extensions: []byte("ext")}
	in := seal(l)
	var out raft.Log
	if err := unseal(7, in, &out); err != nil || string(out.Data) != "data" || string(out.Extensions) != "ext" ||
		out.Type != l.Type {
		t.Fatalf("unseal(7) of a sealed entry: %v, type %s, data %q, extensions %q; want no error, %s, \"data\", \"ext\"",
			err, out.Type, out.Data, out.Extensions, l.Type)
	}
	if err := unseal(8, in, &out); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "index 7") {
		t.Errorf("misplaced record: %v", err)
	}
	for i := range in.Data {
		for bit := range 8 {
			in.Data[i] ^= 1 << bit
			if err := unseal(7, in, &out); !errors.Is(err, ErrDamaged) {
				t.Fatalf("bit %d of byte %d went unnoticed", bit, i)
			}
			in.Data[i] ^= 1 << bit
		}
	}
}
