package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"rmd/cluster"
	"rmd/cluster/refusal"
	"rmd/internal/sleep"
	"rmd/scheduler/input"
)

// How long operators try, and the pause between tries.
const (
	operatorTime  = 3 * time.Minute
	operatorPause = 500 * time.Millisecond
)

// operation is what an operator does, step by step.
type operation struct {
	what string
	done func() bool // does the next step; returns true after the last one
}

// operate runs an operation in the background until it is done. If it runs out of time, it is given
// up until the calm.
func (w *world) operate(op operation) {
	w.operators.Add(1)
	w.ops.Go(func() {
		defer w.operators.Add(-1)
		for end := time.Now().Add(operatorTime); time.Now().Before(end); {
			if w.ctx.Err() != nil || w.check.Broken() || op.done() || !sleep.For(w.ctx, operatorPause) {
				return
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.gaveUp = append(w.gaveUp, op)
	})
}

// resume restarts the operations that were given up, and reports whether there were any.
func (w *world) resume() bool {
	w.mu.Lock()
	again := w.gaveUp
	w.gaveUp = nil
	w.mu.Unlock()
	for _, op := range again {
		w.operate(op)
	}
	return len(again) > 0
}

// undone lists the operations that were given up.
func (w *world) undone() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, op := range w.gaveUp {
		out = append(out, op.what)
	}
	return strings.Join(out, ", ")
}

// membership returns the members according to the leader; nil without a leader.
func (w *world) membership() []cluster.Member {
	r := w.leading()
	if r == nil {
		return nil
	}
	l, up := r.currentProcess()
	if !up {
		return nil
	}
	return l.cluster.Members()
}

func memberOf(all []cluster.Member, id string) (cluster.Member, bool) {
	i := slices.IndexFunc(all, func(m cluster.Member) bool { return m.ID == id })
	if i < 0 {
		return cluster.Member{}, false
	}
	return all[i], true
}

// otherReplica returns a running replica other than r, to which an operator can send a command; nil
// if there is none.
func (w *world) otherReplica(r *replica) *process {
	for _, o := range w.members() {
		if l, up := o.currentProcess(); o != r && up {
			return l
		}
	}
	return nil
}

// voters counts the voters.
func voters(all []cluster.Member) int {
	n := 0
	for _, m := range all {
		if m.Voter {
			n++
		}
	}
	return n
}

// replace brings a replica back whose disk is lost or refused: with a new disk, after its old
// identity is removed. The new identity joins and is promoted.
func (w *world) replace(r *replica) {
	w.mu.Lock()
	busy := w.replacing != nil && w.replacing != r
	again := w.replacing == r && !r.locked((*replica).unusable)
	if !busy {
		w.replacing = r
	}
	w.mu.Unlock()
	if busy || again {
		return
	}
	r.crash()
	w.check.Note("%s gets a new disk", r.id)
	r.set(func(r *replica) { r.disk, r.broken = w.emptyDisk(r), false })
	w.operate(operation{"replace " + r.id, func() bool { return w.replaced(r) }})
}

// replaced does the next step of a replacement. It returns true after the last one.
func (w *world) replaced(r *replica) bool {
	if r.locked((*replica).unusable) {
		return true // damaged again: another replacement runs
	}
	if err := r.start(); errors.Is(err, errDisk) {
		return true // damaged again
	} else if err != nil {
		w.check.Fail("start on an empty disk: %v", err)
		return true
	}
	if r.locked(func(r *replica) bool { return r.out }) { // a removal has also removed the new identity
		w.healed()
		return true
	}
	all, l := w.membership(), w.otherReplica(r)
	self, up := r.currentProcess()
	if all == nil || l == nil || !up {
		return false
	}
	mine := self.cluster.Identity().Incarnation
	m, member := memberOf(all, r.id)
	switch {
	case member && m.Incarnation != mine:
		// with incarnation: all may come from a deposed leader, and r.id alone could mean the new identity
		old := cluster.Identity{ID: m.ID, Incarnation: m.Incarnation}.ServerID()
		if err := l.command(func() error { return l.cluster.Remove(string(old), false) }); err != nil {
			w.check.Note("the old %s is not removed: %v", r.id, err)
		}
	case !member || self.cluster.ClusterID() == "": // or the answer was lost
		w.join(self, []string{l.r.id})
	case m.Voter:
		w.check.Note("%s is back as a voter", r.id)
		w.healed()
		w.check.Achieved("replaced")
		return true
	}
	return false
}

// healed records that the replacement has ended.
func (w *world) healed() {
	w.mu.Lock()
	w.replacing = nil
	w.mu.Unlock()
}

// join asks other replicas to admit a process.
func (w *world) join(l *process, addrs []string) {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	err := w.joinWithToken(ctx, l, addrs)
	if err == nil {
		return
	}
	w.check.Note("%s is not let in: %v", l.r.id, err)
	if errors.Is(err, &refusal.Refusal{Code: refusal.Removed}) && l.r.locked(func(r *replica) bool { return r.leaving }) {
		// The replica was admitted and removed before it learned of either. A real process logs
		// this and stops.
		l.r.set(func(r *replica) { r.out = true })
		l.r.crash()
	}
}

// joinWithToken gets a token for a voter from the leader and joins with it.
func (w *world) joinWithToken(ctx context.Context, l *process, addrs []string) error {
	r := w.leading()
	if r == nil {
		return cluster.ErrNoLeader
	}
	token := hex.EncodeToString(w.entropy())
	hash := sha256.Sum256([]byte(token))
	in := &input.CreateJoinToken{Hash: hash[:], Voter: true, TTLMillis: time.Hour.Milliseconds(), Who: "operator"}
	lead, _ := r.currentProcess()
	reply, _, err := lead.forwarder.Do(ctx, input.Request{Input: in})
	switch {
	case err != nil:
		return err
	case reply.Refused() != nil:
		return reply.Refused()
	}
	return l.command(func() error { return l.cluster.Join(ctx, addrs, token, false) })
}

// Limits on the number of members.
const (
	votersMin  = 3
	membersMax = 5
)

// enlarge adds a replica; autopilot makes it a voter.
func (w *world) enlarge() bool {
	w.mu.Lock()
	var r *replica
	if len(w.rs) < 20 {
		r = w.newReplica(string(rune('a' + len(w.rs))))
		w.rs = append(w.rs, r)
	}
	w.mu.Unlock()
	if r == nil {
		return false
	}
	w.check.Note("%s is new", r.id)
	w.operate(operation{"add " + r.id, func() bool {
		if err := r.start(); errors.Is(err, errDisk) {
			return true // another operation replaces it
		} else if err != nil {
			w.check.Fail("start on an empty disk: %v", err)
			return true
		}
		all, l := w.membership(), w.otherReplica(r)
		self, up := r.currentProcess()
		if all == nil || l == nil || !up {
			return r.locked(func(r *replica) bool { return r.out || r.broken })
		}
		m, member := memberOf(all, r.id)
		if !member || self.cluster.ClusterID() == "" { // or the answer was lost
			w.join(self, []string{l.r.id})
		}
		if member && m.Voter {
			w.check.Achieved("joined")
		}
		return member && m.Voter
	}})
	return true
}

// dismiss removes a member permanently.
func (w *world) dismiss(r *replica) {
	r.set(func(r *replica) { r.leaving = true })
	w.check.Note("%s is to be removed", r.id)
	w.operate(operation{"remove " + r.id, func() bool {
		l := w.otherReplica(r)
		if l == nil {
			return false
		}
		all := w.membership()
		if _, member := memberOf(all, r.id); all == nil || member {
			if err := l.command(func() error { return l.cluster.Remove(r.id, false) }); err != nil {
				w.check.Note("%s is not removed: %v", r.id, err)
			}
			return false
		}
		if err := r.start(); err != nil { // a replica that was down during its removal learns of it when it starts
			w.check.Note("%v", err)
		}
		if r.locked(func(r *replica) bool { return r.out }) {
			w.check.Achieved("removed")
			return true
		}
		return false
	}})
}

// leads is called for each leadership. It checks S2, and S14 by the votes.
func (w *world) leads(l *process, term uint64) {
	w.check.Leads(term, l.r.id)
	now, before := l.disk.Configurations()
	self := string(l.cluster.Identity().ServerID())
	if now.Servers != nil {
		w.check.Elected(term, self, now, before)
	}
}
