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

// Ledger has the tokens and their holders. A copy is independent: neither pages nor records ever
// change.
type Ledger struct {
	last     uint32 // the number of the newest token
	sequence uint64 // counts replacements
	tokens   pages[uint32, *Token]
	holders  pages[uint32, *Holder]
	equal    pages[string, *same] // derived from tokens
	leaving  int                  // derived from holders, as replaced
	replaced int
}

// same finds the token with a content.
type same struct {
	content string
	number  uint32
}

func (s *same) key() string { return s.content }

// Len returns the number of tokens.
func (l *Ledger) Len() int { return l.tokens.n }

// Leaving returns the number of ended applications that still have tokens.
func (l *Ledger) Leaving() int { return l.leaving }

// Replaced returns the number of applications with new tokens for nodes.
func (l *Ledger) Replaced() int { return l.replaced }

// Sequence counts the replacements of tokens. A node with another number lacks some.
func (l *Ledger) Sequence() uint64 { return l.sequence }

// Tokens returns the tokens by number. The caller must not change them.
func (l *Ledger) Tokens() iter.Seq[*Token] { return l.tokens.all() }

// Holders returns the applications with tokens by sequence number. The caller must not change them.
func (l *Ledger) Holders() iter.Seq[*Holder] { return l.holders.all() }

// Token returns a token, or nil.
func (l *Ledger) Token(number uint32) *Token {
	t, _ := l.tokens.get(number)
	return t
}

// Holder returns the record of an application, or nil if it has no tokens.
func (l *Ledger) Holder(app uint32) *Holder {
	h, _ := l.holders.get(app)
	return h
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

// equalTo returns the token with a content, or nil.
func (l *Ledger) equalTo(content string) *Token {
	s, ok := l.equal.get(content)
	if !ok {
		return nil
	}
	return l.Token(s.number)
}

// add adds a token, which no other equals.
func (l *Ledger) add(t *Token) {
	l.tokens.put(t)
	l.equal.put(&same{t.content(), t.Number})
}

// drop removes a token.
func (l *Ledger) drop(t *Token) {
	l.tokens.remove(t.Number)
	l.equal.remove(t.content())
}

// hold adds or replaces a holder.
func (l *Ledger) hold(h *Holder) {
	if old := l.Holder(h.App); old != nil {
		l.count(old, -1)
	}
	l.count(h, 1)
	l.holders.put(h)
}

// unhold removes a holder.
func (l *Ledger) unhold(h *Holder) {
	l.count(h, -1)
	l.holders.remove(h.App)
}

func (l *Ledger) count(h *Holder, n int) {
	if h.LeaveMillis != 0 {
		l.leaving += n
	}
	if len(h.Credentials) > 0 {
		l.replaced += n
	}
}

// Never is the time of a deadline that does not come.
const Never = math.MaxInt64

// FirstMillis returns when the first token ends or is released, and Never if none does.
func (l *Ledger) FirstMillis() int64 {
	first := int64(Never)
	for t := range l.tokens.all() {
		first = min(first, t.overMillis())
	}
	for h := range l.holders.all() {
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
	holder := int64(at) > int64(l.tokens.n)
	if c.Decoding() {
		c.Bool(&holder)
		if int64(at) != int64(l.Records())+1 || !holder && l.holders.n > 0 {
			c.Fail(fmt.Errorf("%w: record %d of tokens", codec.ErrMalformed, at))
			return
		}
		l.decode(holder, c)
		return
	}
	c.Bool(&holder)
	if holder {
		l.holders.at(int(at) - 1 - l.tokens.n).code(c)
	} else {
		l.tokens.at(int(at) - 1).code(c)
	}
}

func (l *Ledger) decode(holder bool, c *codec.Coder) {
	if holder {
		h := new(Holder)
		h.code(c)
		l.count(h, 1)
		decoded(c, &l.holders, h)
		return
	}
	t := new(Token)
	t.code(c)
	decoded(c, &l.tokens, t)
	l.equal.put(&same{t.content(), t.Number})
}

// decoded adds a record that must follow all others.
func decoded[K cmp.Ordered, R record[K]](c *codec.Coder, p *pages[K, R], r R) {
	if p.n > 0 && p.at(p.n-1).key() >= r.key() {
		c.Fail(fmt.Errorf("%w: token or application %v is out of order", codec.ErrMalformed, r.key()))
		return
	}
	p.put(r)
}

// Records returns the number of records that Code encodes.
func (l *Ledger) Records() int { return l.tokens.n + l.holders.n }

// Check verifies that tokens and holders refer to each other. exists says whether there is an
// application.
func (l *Ledger) Check(exists func(app uint32) bool) error {
	if l.equal.n != l.tokens.n {
		return fmt.Errorf("%d of %d tokens are found by their content", l.equal.n, l.tokens.n)
	}
	last := uint32(0)
	for t := range l.tokens.all() {
		if t.Number <= last || t.Number > l.last {
			return fmt.Errorf("%v is out of order, or newer than %d", t, l.last)
		}
		if last = t.Number; l.equalTo(t.content()) != t {
			return fmt.Errorf("%v is not found by its content", t)
		}
		if err := l.checkToken(t); err != nil {
			return err
		}
	}
	last = 0
	sums := Ledger{}
	for h := range l.holders.all() {
		if !exists(h.App) || h.App <= last || h.Sequence > l.sequence {
			return fmt.Errorf("application %d holds tokens and is not there, or is out of order", h.App)
		}
		last = h.App
		if err := l.checkHolder(h); err != nil {
			return err
		}
		sums.count(h, 1)
	}
	if sums.leaving != l.leaving || sums.replaced != l.replaced {
		return fmt.Errorf("%d applications leave and %d have new tokens, and %d and %d are counted", sums.leaving,
			sums.replaced, l.leaving, l.replaced)
	}
	return nil
}

func (l *Ledger) checkToken(t *Token) error {
	if t.Phase >= phases || (len(t.Apps) == 0) != (t.Phase == Ending) || t.Phase == Ending && t.Keep {
		return fmt.Errorf("%v is %s and has %d applications", t, t.Phase, len(t.Apps))
	}
	for k, app := range t.Apps {
		if h := l.Holder(app); h == nil || k > 0 && t.Apps[k-1] >= app || !slices.Contains(h.Tokens, t.Number) {
			return fmt.Errorf("%v names application %d, which does not hold it", t, app)
		}
	}
	return nil
}

func (l *Ledger) checkHolder(h *Holder) error {
	for k, n := range h.Tokens {
		if t := l.Token(n); t == nil || k > 0 && h.Tokens[k-1] >= n || !slices.Contains(t.Apps, h.App) {
			return fmt.Errorf("application %d holds token %d, which does not name it", h.App, n)
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
