package harness

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"go.etcd.io/bbolt"

	"rmd/jepsen-lite/history"
)

// ErrDamagedLog means that a stored entry is not the one that was written.
var ErrDamagedLog = errors.New("stored entry is damaged")

// record is an entry as raft-boltdb stores it. Data is rmd's envelope: 1 byte of version, 1 of
// type, 8 of index, 8 of term, 4 for the length of the extensions, the extensions, the data, and 4
// bytes of CRC-32C.
type record struct {
	Index, Term uint64
	Type        uint8
	Data        []byte
}

const (
	envelopeHead = 22
	envelopeTail = 4
)

// entryKinds are the types of Raft entries by number.
var entryKinds = map[uint8]string{0: history.Command, 1: "noop", 4: "barrier", 5: "configuration"}

// Log reads the log of a replica that does not run, from its disk. It uses none of rmd's code, and
// checks the index, term, type and checksum of every entry.
func (r *Replica) Log() ([]*history.Entry, error) {
	if r.Running() {
		return nil, fmt.Errorf("read the log of %s: it runs", r.ID)
	}
	return r.readLog(filepath.Join(r.Dir, logName), 0)
}

// logName is the file of a replica's log.
const logName = "raft.db"

// LogFrom reads the log of a replica from an index on, also while the replica runs. It stops the
// process while it copies the file. The newest entries may not be committed.
func (r *Replica) LogFrom(index uint64) ([]*history.Entry, error) {
	dir, err := os.MkdirTemp(r.cluster.cfg.Dir, "log-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, logName)
	if err := r.copyStill(file); err != nil {
		return nil, fmt.Errorf("copy the log of %s: %w", r.ID, err)
	}
	return r.readLog(file, index)
}

// copyStill copies the log while all threads of the process are stopped. It holds the lock, so that
// no other call stops or continues the process.
func (r *Replica) copyStill(to string) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running() && !r.paused {
		p := r.cmd.Process
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.Signal(syscall.SIGCONT)) }()
		if err := standStill(p.Pid); err != nil {
			return err
		}
	}
	in, err := os.Open(filepath.Join(r.Dir, logName))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// readLog reads the entries of a log from an index on. bbolt panics if pages are damaged; readLog
// returns an error instead.
func (r *Replica) readLog(file string, from uint64) (out []*history.Entry, err error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("read the log of %s: %w: %v", r.ID, ErrDamagedLog, p)
		}
	}()
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", r.ID, err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("logs"))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for k, v := c.Seek(binary.BigEndian.AppendUint64(nil, from)); k != nil; k, v = c.Next() {
			e, err := entryOf(k, v)
			if err != nil {
				return err
			}
			out = append(out, e)
		}
		return nil
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

// members is the configuration of Raft's members in the log.
type members struct {
	Servers []struct {
		Suffrage int // 0: voter
		ID       string
		Address  string
	}
}

// Membership decodes an entry with a configuration of members. It returns the ids of replicas
// without their incarnations.
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
