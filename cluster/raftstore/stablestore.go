package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"

	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
)

// StableStore stores raft's term and vote behind the guard. Each value has a checksum over key and
// value.
type StableStore struct {
	g            *Guard
	inner        raft.StableStore
	OnTermStored func() // called after a term was stored, before raft relies on it; may be nil
}

var _ raft.StableStore = (*StableStore)(nil)

// errNotFound is the text that raft compares.
const errNotFound = "not found"

func stableSum(key, val []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, val)
}

// Set stores a value.
func (s *StableStore) Set(key, val []byte) error {
	b := binary.BigEndian.AppendUint32(append([]byte{envelopeVersion}, val...), stableSum(key, val))
	failpoint.Hit(failpoint.StoreValue)
	if err := s.g.write("store "+string(key), func() error { return s.inner.Set(key, b) }); err != nil {
		s.g.halt()
	}
	failpoint.Hit(failpoint.ValueStored)
	return nil
}

// Get returns a value, or an error with the text "not found".
func (s *StableStore) Get(key []byte) ([]byte, error) {
	if s.g.Check() != nil {
		s.g.halt()
	}
	val, err := s.peek(key)
	if err != nil && err.Error() != errNotFound {
		s.g.Fail(exitcode.Store, err)
		s.g.halt()
	}
	return val, err
}

// peek reads and verifies a value.
func (s *StableStore) peek(key []byte) ([]byte, error) {
	b, err := s.inner.Get(key)
	if err != nil && err.Error() == errNotFound || err == nil && len(b) == 0 {
		return nil, errors.New(errNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if len(b) < 5 || b[0] != envelopeVersion || stableSum(key, b[1:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return nil, fmt.Errorf("stored value %s: checksum differs: %w", key, ErrDamaged)
	}
	return b[1 : len(b)-4], nil
}

// SetUint64 stores a number.
func (s *StableStore) SetUint64(key []byte, val uint64) error {
	err := s.Set(key, binary.BigEndian.AppendUint64(nil, val))
	if err == nil && val > 0 && s.OnTermStored != nil {
		s.OnTermStored()
	}
	return err
}

// GetUint64 returns a number, or an error with the text "not found".
func (s *StableStore) GetUint64(key []byte) (uint64, error) {
	b, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(b) != 8 {
		err := fmt.Errorf("stored value %s has %d bytes: %w", key, len(b), ErrDamaged)
		s.g.Fail(exitcode.Store, err)
		s.g.halt()
	}
	return binary.BigEndian.Uint64(b), nil
}
