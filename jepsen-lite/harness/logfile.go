package harness

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"go.etcd.io/bbolt"

	"rmd/jepsen-lite/history"
)

// ErrDamagedLog says that a stored entry is not what was written.
var ErrDamagedLog = errors.New("stored entry is damaged")

// record is an entry as raft-boltdb stores it; Data is the envelope that rmd puts
// round what it holds: version 1, type 1, index 8, term 8, length of extensions
// 4, extensions, data, CRC-32C 4.
type record struct {
	Index, Term uint64
	Type        uint8
	Data        []byte
}

const (
	envelopeHead = 22
	envelopeTail = 4
)

// entryKinds are raft's types of entries by their numbers.
var entryKinds = map[uint8]string{0: history.Command, 1: "noop", 4: "barrier", 5: "configuration"}

// Log reads the log of a replica that does not run, from its disk, with nothing
// of rmd's own code: every entry's place and checksum is tested.
func (r *Replica) Log() ([]*history.Entry, error) {
	if r.Running() {
		return nil, fmt.Errorf("read the log of %s: it runs", r.ID)
	}
	file := filepath.Join(r.Dir, "raft.db")
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", r.ID, err)
	}
	defer db.Close()
	var out []*history.Entry
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("logs"))
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			e, err := entryOf(k, v)
			if err == nil {
				out = append(out, e)
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", r.ID, err)
	}
	return out, nil
}

func entryOf(key, value []byte) (*history.Entry, error) {
	if len(key) != 8 {
		return nil, fmt.Errorf("key of %d bytes: %w", len(key), ErrDamagedLog)
	}
	index := binary.BigEndian.Uint64(key)
	var rec record
	if err := codec.NewDecoder(bytes.NewReader(value), &codec.MsgpackHandle{}).Decode(&rec); err != nil {
		return nil, fmt.Errorf("entry %d: %w: %w", index, ErrDamagedLog, err)
	}
	b := rec.Data
	if len(b) < envelopeHead+envelopeTail {
		return nil, fmt.Errorf("entry %d: envelope of %d bytes: %w", index, len(b), ErrDamagedLog)
	}
	body := b[:len(b)-envelopeTail]
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[len(body):]) {
		return nil, fmt.Errorf("entry %d: checksum differs: %w", index, ErrDamagedLog)
	}
	at, term, ext := binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint64(b[10:]), int(binary.BigEndian.Uint32(b[18:]))
	if at != index || rec.Index != index || rec.Term != term || b[1] != rec.Type || ext > len(body)-envelopeHead {
		return nil, fmt.Errorf("entry %d: the record there is of index %d, term %d: %w", index, at, term, ErrDamagedLog)
	}
	kind := entryKinds[rec.Type]
	if kind == "" {
		kind = "other"
	}
	return &history.Entry{Kind: kind, Index: index, Term: term, Data: bytes.Clone(body[envelopeHead+ext:])}, nil
}

// members is a membership as raft writes it into the log.
type members struct {
	Servers []struct {
		Suffrage int // 0 votes
		ID       string
		Address  string
	}
}

// Membership reads an entry that changes the members; the names are those of
// replicas, without their incarnations.
func Membership(e *history.Entry) (voters, nonvoters []string, err error) {
	var m members
	if err := codec.NewDecoder(bytes.NewReader(e.Data), &codec.MsgpackHandle{}).Decode(&m); err != nil {
		return nil, nil, fmt.Errorf("membership at index %d: %w", e.Index, err)
	}
	for _, s := range m.Servers {
		id, _, _ := strings.Cut(s.ID, ".")
		if s.Suffrage == 0 {
			voters = append(voters, id)
		} else {
			nonvoters = append(nonvoters, id)
		}
	}
	return voters, nonvoters, nil
}
