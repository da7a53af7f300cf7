package apptoken

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"slices"

	"rmd/fsm/event"
	"rmd/internal/codec"
)

// Ledger has the tokens and their holders. A copy is independent: the lists are replaced whole, and
// their records are never changed.
type Ledger struct {
	last     uint32 // the number of the newest token
	sequence uint64 // counts replacements
	tokens   []*Token
	holders  []*Holder
}

// Len returns the number of tokens.
func (l *Ledger) Len() int { return len(l.tokens) }

// Sequence counts the replacements of tokens. A node with another number lacks some.
func (l *Ledger) Sequence() uint64 { return l.sequence }

// Tokens returns the tokens by number. The caller must not change them.
func (l *Ledger) Tokens() iter.Seq[*Token] { return slices.Values(l.tokens) }

// Holders returns the applications with tokens by sequence number. The caller must not change them.
func (l *Ledger) Holders() iter.Seq[*Holder] { return slices.Values(l.holders) }

// Token returns a token, or nil.
func (l *Ledger) Token(number uint32) *Token {
	if i, ok := l.tokenAt(number); ok {
		return l.tokens[i]
	}
	return nil
}

// Holder returns the record of an application, or nil if it has no tokens.
func (l *Ledger) Holder(app uint32) *Holder {
	if i, ok := l.holderAt(app); ok {
		return l.holders[i]
	}
	return nil
}

// Waits reports whether an application may not start yet.
func (l *Ledger) Waits(app uint32) bool {
	h := l.Holder(app)
	return h != nil && h.Waits
}

// Ready reports whether an application that waits has all that it waits for.
func (l *Ledger) Ready(h *Holder) bool {
	for _, n := range h.Tokens {
		if l.Token(n).Phase == New {
			return false
		}
	}
	return h.FetchMillis == 0
}

func (l *Ledger) tokenAt(number uint32) (int, bool) {
	return slices.BinarySearchFunc(l.tokens, number, func(t *Token, n uint32) int { return cmp.Compare(t.Number, n) })
}

func (l *Ledger) holderAt(app uint32) (int, bool) {
	return slices.BinarySearchFunc(l.holders, app, func(h *Holder, n uint32) int { return cmp.Compare(h.App, n) })
}

// put adds or replaces a token; nil removes it.
func (l *Ledger) put(number uint32, t *Token) {
	i, has := l.tokenAt(number)
	l.tokens = replaced(l.tokens, i, has, t)
}

// hold adds or replaces a holder; nil removes it.
func (l *Ledger) hold(app uint32, h *Holder) {
	i, has := l.holderAt(app)
	l.holders = replaced(l.holders, i, has, h)
}

// replaced returns a copy of a list with another element at i, without it if e is nil, or with one
// more if the list has none there.
func replaced[T any](list []*T, i int, has bool, e *T) []*T {
	out := make([]*T, 0, len(list)+1)
	out = append(out, list[:i]...)
	if e != nil {
		out = append(out, e)
	}
	if has {
		i++
	}
	if out = append(out, list[i:]...); len(out) == 0 {
		return nil
	}
	return out
}

// Never is the time of a deadline that does not come.
const Never = math.MaxInt64

// FirstMillis returns when the first token ends or is released, and Never if none does.
func (l *Ledger) FirstMillis() int64 {
	first := int64(Never)
	for _, t := range l.tokens {
		first = min(first, t.overMillis())
	}
	for _, h := range l.holders {
		first = min(first, h.overMillis())
	}
	return first
}

// overMillis returns when the token ends without a further renewal.
func (t *Token) overMillis() int64 {
	switch {
	case t.Phase == New && t.MaxMillis > 0:
		return t.MaxMillis
	case (t.Phase == Kept || t.Phase == Ending) && t.EndMillis > 0:
		return t.EndMillis
	}
	return Never
}

func (h *Holder) overMillis() int64 {
	if h.LeaveMillis > 0 {
		return h.LeaveMillis
	}
	return Never
}

// Over reports whether the token has ended at a time.
func (t *Token) Over(now int64) bool { return t.overMillis() <= now }

// Over reports whether the application's tokens are to be released at a time.
func (h *Holder) Over(now int64) bool { return h.overMillis() <= now }

// Counters codes the counters, which are in a snapshot apart from the records.
func (l *Ledger) Counters(c *codec.Coder) {
	c.U32(&l.last)
	c.U64(&l.sequence)
}

// Code encodes the record at a place from 1 in a snapshot, or decodes the next one. Tokens are first,
// and holders follow.
func (l *Ledger) Code(at uint32, c *codec.Coder) {
	holder := int64(at) > int64(len(l.tokens))
	if c.Decoding() {
		c.Bool(&holder)
		if int64(at) != int64(l.Records())+1 || !holder && len(l.holders) > 0 {
			c.Fail(fmt.Errorf("%w: record %d of tokens", codec.ErrMalformed, at))
			return
		}
		l.decode(holder, c)
		return
	}
	c.Bool(&holder)
	if holder {
		l.holders[int(at)-1-len(l.tokens)].code(c)
	} else {
		l.tokens[at-1].code(c)
	}
}

func (l *Ledger) decode(holder bool, c *codec.Coder) {
	if holder {
		h := new(Holder)
		h.code(c)
		l.holders = append(l.holders, h)
		return
	}
	t := new(Token)
	t.code(c)
	l.tokens = append(l.tokens, t)
}

// Records returns the number of records that Code encodes.
func (l *Ledger) Records() int { return len(l.tokens) + len(l.holders) }

// Check verifies that tokens and holders refer to each other. exists says whether there is an
// application.
func (l *Ledger) Check(exists func(app uint32) bool) error {
	for i, t := range l.tokens {
		switch {
		case t.Number == 0 || t.Number > l.last || i > 0 && l.tokens[i-1].Number >= t.Number:
			return fmt.Errorf("%v is out of order, or newer than %d", t, l.last)
		case t.Phase >= phases || (len(t.Apps) == 0) != (t.Phase == Ending) || t.Phase == Ending && t.Keep:
			return fmt.Errorf("%v is %s and has %d applications", t, t.Phase, len(t.Apps))
		}
		for k, app := range t.Apps {
			if h := l.Holder(app); h == nil || k > 0 && t.Apps[k-1] >= app || !slices.Contains(h.Tokens, t.Number) {
				return fmt.Errorf("%v names application %d, which does not hold it", t, app)
			}
		}
	}
	for i, h := range l.holders {
		if !exists(h.App) || i > 0 && l.holders[i-1].App >= h.App || h.Sequence > l.sequence {
			return fmt.Errorf("application %d holds tokens and is not there, or is out of order", h.App)
		}
		for k, n := range h.Tokens {
			if t := l.Token(n); t == nil || k > 0 && h.Tokens[k-1] >= n || !slices.Contains(t.Apps, h.App) {
				return fmt.Errorf("application %d holds token %d, which does not name it", h.App, n)
			}
		}
	}
	return nil
}

// digest returns a hash of an event and of the records as it left them.
func digest(e event.Event, tokens []*Token, holders []*Holder) uint64 {
	c := codec.NewEncoder(nil)
	e.Code(c)
	for _, t := range tokens {
		t.code(c)
	}
	for _, h := range holders {
		h.code(c)
	}
	f := fnv.New64a()
	_, _ = f.Write(c.Bytes()) // it never fails
	return f.Sum64()
}
