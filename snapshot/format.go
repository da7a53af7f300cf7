package snapshot

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"rmd/fsm/state"
	"rmd/internal/codec"
)

const (
	magic      = "RMDSNAP"
	magicSize  = len(magic) + 1 // including the byte of the format
	frameHead  = 5              // kind, length
	frameTail  = 4              // crc32c
	chunkBytes = 64 << 10       // a chunk ends when it has reached this size
	frameMax   = 1 << 28        // largest frame, and so the largest record
	readStep   = 1 << 20        // memory allocated before the bytes have arrived
)

// The kinds of frame.
const (
	frameHeader  byte = 'H'
	frameSection byte = 'S'
	frameChunk   byte = 'C'
	frameTrailer byte = 'T'
)

// Errors of Read. Each is wrapped in a DamageError, which says where it occurred.
var (
	ErrMagic        = errors.New("not a snapshot")
	ErrFormat       = errors.New("written by a newer build")
	ErrDamaged      = errors.New("snapshot is damaged")
	ErrInconsistent = state.ErrInconsistent
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newest is the newest format that this build knows.
func newest(sections []state.Section) byte { return formatOf(sections, math.MaxUint32) }

// formatOf returns the format of the snapshots of a cluster with a feature level: the last level up to
// it that has brought a section, and 1 at first. So a replica with the build before reads snapshots of
// one with this build until the upgrade is final.
func formatOf(sections []state.Section, level uint32) byte {
	format := uint32(1)
	for _, s := range sections {
		if s.Since <= level {
			format = max(format, s.Since)
		}
	}
	return byte(format)
}

// sectionsOf returns those of the sections that a snapshot of a format has.
func sectionsOf(sections []state.Section, format byte) []state.Section {
	return slices.DeleteFunc(slices.Clone(sections), func(s state.Section) bool { return s.Since > uint32(format) })
}

// Header identifies the state in a snapshot.
type Header struct {
	Format    byte   `json:"format"` // follows from the level; set by Write
	ClusterID string `json:"cluster_id"`
	Index     uint64 `json:"index"`
	Term      uint64 `json:"term"`
	Level     uint32 `json:"level"`
	Epoch     uint32 `json:"epoch"`
	// Sequence is the sequence number of the last batch applied; see package fsm.
	Sequence uint64 `json:"sequence"`
}

// HeaderOf returns the header for a state at an index and term.
func HeaderOf(st *state.State, index, term, sequence uint64) Header {
	return Header{Format: formatOf(state.Sections(), st.Meta.Level), ClusterID: st.Meta.ClusterID,
		Index: index, Term: term,
		Level: st.Meta.Level, Epoch: st.Meta.Epoch, Sequence: sequence}
}

func (h *Header) code(c *codec.Coder) {
	c.String(&h.ClusterID)
	c.U64(&h.Index)
	c.U64(&h.Term)
	c.U32(&h.Level)
	c.U32(&h.Epoch)
	c.U64(&h.Sequence)
}

// describes returns an error if the header does not match the state that was read after it.
func (h *Header) describes(st *state.State) error {
	m := &st.Meta
	if h.ClusterID != m.ClusterID || h.Level != m.Level || h.Epoch != m.Epoch {
		return fmt.Errorf("%w: header says cluster %q level %d epoch %d, the state %q, %d, %d", ErrDamaged,
			h.ClusterID, h.Level, h.Epoch, m.ClusterID, m.Level, m.Epoch)
	}
	return nil
}

// Within returns ErrFormat if the header's feature level is above level. A program of that level
// could read the state, but not the log entries after it.
func (h *Header) Within(level uint32) error {
	if h.Level > level {
		return fmt.Errorf("%w: feature level %d, this build knows %d", ErrFormat, h.Level, level)
	}
	return nil
}

// sectionHead precedes the chunks of a section.
type sectionHead struct {
	id    uint8
	count uint64
}

func (s *sectionHead) code(c *codec.Coder) {
	c.U8(&s.id)
	c.U64(&s.count)
}

// trailer ends the stream. sum is the SHA-256 of all bytes before the trailer's frame.
type trailer struct {
	records uint64
	digest  uint64
	sum     []byte
}

func (t *trailer) code(c *codec.Coder) {
	c.U64(&t.records)
	c.U64(&t.digest)
	c.Raw(&t.sum)
}

// DamageError says where a snapshot is damaged.
type DamageError struct {
	Section string // the section's name, "header" or "trailer"
	Offset  int64  // of the frame, or of the record in the frame, from the start of the stream
	Err     error
}

// Error implements error.
func (e *DamageError) Error() string {
	return fmt.Sprintf("snapshot section %s at offset %d: %v", e.Section, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }
