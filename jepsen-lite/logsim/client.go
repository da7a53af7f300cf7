package logsim

import (
	"fmt"
	"hash/crc32"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// client submits one application after the other, and changes, moves and kills it. Most of its
// calls carry an idempotency key; KillApplication does not.
type client struct {
	w    *world
	id   int
	busy bool
	seq  int
	job  *job
	app  yarn.ApplicationID
	sent *input.SubmitApplication
	wait uint64 // it does nothing before this round
	live int    // the number of calls that it still makes about its application
}

// keyed gives a request the next key of this client.
func (c *client) keyed(in input.Input) input.Request {
	c.seq++
	return input.Request{Key: fmt.Sprintf("client%d/%d", c.id, c.seq), BodyHash: bodyHash(in), Input: in}
}

func bodyHash(in input.Input) uint64 {
	return uint64(crc32.Checksum(input.EncodeRequest(nil, input.Request{Input: in}), castagnoli))
}

// act implements party.
func (c *client) act() {
	w := c.w
	if c.busy || w.rounds < c.wait {
		return
	}
	if c.live == 0 {
		if w.recovering {
			return
		}
		c.busy = true
		c.submit()
		return
	}
	c.live--
	c.wait = w.rounds + uint64(w.rng.IntN(200))
	c.busy = true
	switch n := w.rng.IntN(12); {
	case n < 3:
		w.wire.send(c, c.keyed(&input.SetPriority{ID: c.app, Priority: int32(w.rng.IntN(8)) - 1}))
	case n < 5 && !w.recovering:
		w.wire.send(c, c.keyed(&input.MoveApplication{ID: c.app, Queue: leaves[w.rng.IntN(len(leaves))]}))
	case n == 5 || (n < 9 && w.opt.has(LoadStorm)):
		w.wire.send(c, input.Request{Input: &input.KillApplication{ID: c.app, User: "u"}})
	case n == 10:
		w.wire.send(c, c.keyed(&input.SetLifetime{ID: c.app, LifetimeMillis: 20_000 + w.rng.Int64N(60_000)}))
	case n == 11 && w.opt.has(LoadRestarts):
		w.wire.send(c, c.keyed(&input.FailAttempt{Attempt: yarn.AttemptID{App: c.app, Attempt: 1}, User: "u"}))
	case n == 9 && c.sent != nil: // the key of another submission with other content: refused
		other := *c.sent
		other.Name += "-other"
		w.wire.send(c, input.Request{Key: fmt.Sprintf("client%d/%d", c.id, c.seq), BodyHash: bodyHash(&other), Input: &other})
		c.seq++ // the key is not used again in any case
	default:
		c.busy = false
	}
}

// userQueue returns a queue below root.users that a submission may create. The leader refuses some
// of them: they are too deep, or the parent has too many.
func (w *world) userQueue(user string) string {
	switch n := w.rng.IntN(8); {
	case n < 4:
		return "root.users." + user
	case n < 7:
		return fmt.Sprintf("root.users.g%d.%s", w.rng.IntN(2), user)
	}
	return "root.users.g0.deep." + user
}

// submit submits a new application. No other application has its name.
func (c *client) submit() {
	w := c.w
	n := len(w.jobs)
	j := w.newJob(fmt.Sprintf("job-%d", n))
	c.job = j
	in := &input.SubmitApplication{Name: j.name, User: fmt.Sprintf("u%d", w.rng.IntN(3)),
		Queue:     leaves[w.rng.IntN(len(leaves))],
		Unmanaged: j.unmanaged, KeepContainers: w.rng.IntN(2) == 0, MaxAttempts: 1 + w.rng.Uint32N(3),
		Priority: int32(w.rng.IntN(7)), PrioritySet: true,
		AM: yarn.NewResource(512, 1), Context: j.context(n)}
	if w.opt.has(LoadUsers) && w.rng.IntN(2) == 0 {
		in.Queue = w.userQueue(in.User)
	}
	if w.rng.IntN(8) == 0 {
		in.ValidityMillis = 5000
	}
	if w.rng.IntN(16) == 0 {
		in.LifetimeMillis = 20_000
	}
	if n%3 != 0 { // the declared run time; the real one is independent of it
		in.Tags = []string{fmt.Sprintf("%sseconds=%d", yarn.LifetimeTag, 1+n%20)}
	}
	if n%8 == 0 { // the placement rules choose a queue
		in.Queue = "" // the placement rules know one
	}
	in.Label, in.AMLabel = w.label(), w.label()
	in.Tags = append(in.Tags, j.gang(n)...)
	if !j.unmanaged { // its AM registers at once
		in.Tokens = w.service.tokens(n)
	}
	c.sent = in
	w.wire.send(c, c.keyed(in))
}

// answered implements party.
func (c *client) answered(in input.Input, r input.Reply) {
	w := c.w
	c.busy = false
	c.wait = w.rounds + uint64(w.rng.IntN(100))
	submitted, ok := in.(*input.SubmitApplication)
	if !ok {
		return
	}
	if f := r.Refused(); f != nil {
		if f.Reason == input.KeyReused {
			w.counts.KeysReused++
		}
		c.sent = nil
		return
	}
	c.sent = nil
	reply := r.(*input.SubmitApplicationReply)
	// the first submission was refused and its key not stored, so the changed one was accepted
	if submitted.Name != c.job.name {
		return
	}
	c.sent = submitted
	c.app, c.job.id, c.live = reply.ID, reply.ID, 1+w.rng.IntN(4)
	if c.job.unmanaged {
		w.begin(c.job, yarn.AttemptID{App: reply.ID, Attempt: 1}, nil, yarn.ContainerID{})
	}
}
