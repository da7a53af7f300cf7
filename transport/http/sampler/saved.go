package sampler

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"rmd/fsm/state"
	"rmd/internal/codec"
	"rmd/yarn"
)

// This file encodes the samples for a file, so that they survive a restart of the replica:
//
//	magic, version  fileMagic, 1 byte
//	cluster         its id
//	3 × series      hour, day and week: the objects of the slots, then the samples, the newest first
//	applications    living ones first, then by id, the newest first
//	checksum        CRC-32C of all before it, 4 bytes, big-endian

// fileMagic is the beginning of the bytes.
const fileMagic = "rmd-samples\n"

// partMost is the number of bytes after which a time keeps no older details, and applications no older
// samples. So all bytes are at most about 17 MB.
const partMost = 4 << 20

// SavedMost is larger than the result of Save ever is, in bytes.
const SavedMost = 64 << 20

// Errors of Restore. None of them is a fault of the sampler.
var (
	ErrForeign = errors.New("the samples are of another cluster")
	ErrVersion = errors.New("the samples are of another version of rmd")
	ErrDamaged = errors.New("the samples are damaged")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save returns the samples of a cluster as bytes.
func (s *Sampler) Save(cluster string) []byte {
	c := codec.NewEncoder(append([]byte(fileMagic), version))
	c.String(&cluster)
	for _, t := range s.all {
		t.copy().code(c)
	}
	s.apps.save(c)
	return binary.BigEndian.AppendUint32(c.Bytes(), crc32.Checksum(c.Bytes(), castagnoli))
}

// Restore puts saved samples of a cluster before those that the sampler has taken. It changes nothing
// on an error.
func (s *Sampler) Restore(data []byte, cluster string) error {
	body, ok := bytes.CutPrefix(data, []byte(fileMagic))
	if !ok || len(body) < 5 {
		return fmt.Errorf("%w: they are incomplete, or the file is another one", ErrDamaged)
	}
	if v := body[0]; v != version {
		return fmt.Errorf("%w: format %d, this one reads %d", ErrVersion, v, version)
	}
	end := len(data) - 4
	if binary.BigEndian.Uint32(data[end:]) != crc32.Checksum(data[:end], castagnoli) {
		return fmt.Errorf("%w: the checksum is wrong", ErrDamaged)
	}
	c := codec.NewDecoder(body[1 : len(body)-4])
	var of string
	if c.String(&of); of != cluster && c.Err() == nil {
		return fmt.Errorf("%w: %s", ErrForeign, of)
	}
	var all []*series
	for _, t := range s.all {
		old := newSeries(t.step, t.span)
		old.code(c)
		all = append(all, old)
	}
	old := newApps(time.Duration(s.apps.step) * time.Millisecond)
	old.load(c)
	if err := c.Finish(); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for i, t := range s.all {
		t.precede(all[i])
	}
	s.apps.precede(old)
	return nil
}

// copy returns the samples as they are now. Details do not change, so both have the same.
func (s *series) copy() *series {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return &series{step: s.step, span: s.span, began: s.began, kinds: s.kinds,
		samples: slices.Clone(s.samples), queues: slices.Clone(s.queues), nodes: slices.Clone(s.nodes)}
}

// precede puts older samples before those that there are.
func (s *series) precede(old *series) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := old.samples
	if len(s.samples) > 0 {
		n, _ := slices.BinarySearchFunc(kept, s.samples[0].millis,
			func(a sample, at int64) int { return cmp.Compare(a.millis, at) })
		kept = kept[:n]
	}
	if len(kept) == 0 {
		return
	}
	if s.samples, s.began = append(kept, s.samples...), old.began; s.kinds == nil {
		s.kinds = old.kinds
	}
	for slot, at := range s.queues {
		old.queues.set(state.QueueSlot(slot), at.key, at.since)
	}
	for slot, at := range s.nodes {
		old.nodes.set(state.NodeSlot(slot), at.key, at.since)
	}
	s.queues, s.nodes = old.queues, old.nodes
}

// code codes all of a series. It leaves out the oldest details beyond partMost.
func (s *series) code(c *codec.Coder) {
	c.I64(&s.began)
	codec.List(c, (*[]string)(&s.kinds), (*codec.Coder).String)
	codeSlots(c, &s.queues, (*codec.Coder).String)
	codeSlots(c, &s.nodes, (*codec.Coder).NodeID)
	begun := c.Len()
	slices.Reverse(s.samples)
	var before sample
	codec.List(c, &s.samples, func(c *codec.Coder, t *sample) {
		if !c.Decoding() && c.Len()-begun > partMost {
			t.detail = nil
		}
		t.code(c, &before)
		before = *t
	})
	slices.Reverse(s.samples)
}

func codeSlots[S ~uint32, K comparable](c *codec.Coder, s *slots[S, K], key func(*codec.Coder, *K)) {
	codec.List(c, (*[]struct {
		key   K
		since int64
	})(s), func(c *codec.Coder, e *struct {
		key   K
		since int64
	}) {
		key(c, &e.key)
		c.I64(&e.since)
	})
}

// save encodes the samples of applications up to partMost.
func (s *apps) save(c *codec.Coder) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids := slices.SortedFunc(maps.Keys(s.of), s.worthier)
	kinds := []string(s.kinds)
	codec.List(c, &kinds, (*codec.Coder).String)
	begun, more := c.Len(), true
	for _, id := range ids {
		if c.Len()-begun > partMost {
			break
		}
		c.Bool(&more)
		c.ApplicationID(&id)
		s.of[id].code(c)
	}
	more = false
	c.Bool(&more)
}

// worthier orders applications by the worth of their samples: living ones first, then the newest.
func (s *apps) worthier(a, b yarn.ApplicationID) int {
	return cmp.Or(cmp.Compare(s.of[b].living(), s.of[a].living()), cmp.Compare(b.ClusterTimestamp, a.ClusterTimestamp),
		cmp.Compare(b.Seq, a.Seq))
}

// living returns 1 for an application that has not ended, otherwise 0.
func (x *appSeries) living() int {
	if x.ended == 0 {
		return 1
	}
	return 0
}

// load decodes the samples of applications.
func (s *apps) load(c *codec.Coder) {
	codec.List(c, (*[]string)(&s.kinds), (*codec.Coder).String)
	for c.Err() == nil {
		var more bool
		if c.Bool(&more); !more {
			return
		}
		var id yarn.ApplicationID
		x := &appSeries{}
		c.ApplicationID(&id)
		if x.code(c); len(x.samples) > 0 {
			s.of[id] = x
		}
	}
}

// precede puts older samples before those that there are. It keeps the bound of appsKept.
func (s *apps) precede(old *apps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = old.kinds
	}
	for id, x := range old.of {
		have := s.of[id]
		if have == nil {
			if len(s.of) < appsKept {
				s.of[id] = x
			}
			continue
		}
		for _, t := range have.samples {
			x.add(t.millis, *t.use, s.step)
		}
		x.ended = have.ended
		s.of[id] = x
	}
}
