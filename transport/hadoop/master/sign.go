package master

import (
	"bytes"
	"hash"
	"sync"
	"sync/atomic"

	"rmd/fsm/state"
	"rmd/transport/hadoop/token"
)

// signer signs with one key. It keeps HMACs that are initialized with the key.
type signer struct {
	key  state.MasterKey
	pool sync.Pool
}

func newSigner(key state.MasterKey) *signer {
	s := &signer{key: key}
	s.key.Bytes = bytes.Clone(key.Bytes)
	s.pool.New = func() any { return token.HMAC(s.key) }
	return s
}

// sign appends the password of an identifier.
func (s *signer) sign(b, identifier []byte) []byte {
	h := s.pool.Get().(hash.Hash)
	h.Reset()
	h.Write(identifier) // never fails
	b = h.Sum(b)
	s.pool.Put(h)
	return b
}

// signing caches the signer of the last key. The key itself always comes from the state.
type signing struct{ last atomic.Pointer[signer] }

func (s *signing) of(key state.MasterKey) *signer {
	if p := s.last.Load(); p != nil && p.key.ID == key.ID && p.key.Algorithm == key.Algorithm &&
		bytes.Equal(p.key.Bytes, key.Bytes) {
		return p
	}
	p := newSigner(key)
	s.last.Store(p)
	return p
}
