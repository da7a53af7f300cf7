package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rmd/jepsen-lite/harness"
)

// Links returns the faults of the network.
func Links() []Fault {
	hold := seconds(1, 8)
	return []Fault{
		{Name: "isolate", Kind: harness.Partition, Text: "one replica is cut off from the others; clients reach it still",
			Hold: hold, Inject: isolate(harness.Drop, false)},
		{Name: "isolate-all", Kind: harness.Partition, Text: "one replica is cut off from everybody", Hold: hold,
			Inject: isolate(harness.Drop, true)},
		{Name: "isolate-reject", Kind: harness.Partition, Text: "the same, and its connections are refused or reset",
			Hold: hold, Inject: isolate(harness.Reject, false)},
		{Name: "halves", Kind: harness.Partition, Text: "a minority and a majority that do not hear each other", Hold: hold,
			Inject: halves},
		{Name: "deaf", Kind: harness.OneWay, Text: "one replica hears nobody, and is heard", Hold: hold,
			Inject: oneWay(true)},
		{Name: "mute", Kind: harness.OneWay, Text: "one replica is heard by nobody, and hears", Hold: hold,
			Inject: oneWay(false)},
		{Name: "ring", Kind: harness.OneWay, Text: "each replica hears only the next one", Hold: hold, Inject: ring},
		{Name: "bridge", Kind: harness.Partition, Text: "two that do not hear each other, and one that hears both",
			Hold: hold, Inject: bridge},
		{Name: "flapping-link", Kind: harness.Partition, Text: "one replica comes and goes", Hold: seconds(0, 1),
			Inject: flapping},
		{Name: "delay", Kind: harness.Delay, Text: "what one replica sends is late by 20 to 300 ms", Hold: hold,
			Inject: shape(func(e *Env) harness.Shape {
				d := time.Duration(20+e.Rand.IntN(280)) * time.Millisecond
				return harness.Shape{Delay: d / 2, Jitter: d}
			})},
		{Name: "loss", Kind: harness.Loss, Text: "a part of what one replica sends is lost and sent again", Hold: hold,
			Inject: shape(func(e *Env) harness.Shape {
				return harness.Shape{Stall: 0.05 + e.Rand.Float64()*0.25, StallFor: 200 * time.Millisecond}
			})},
		{Name: "thin-pipe", Kind: harness.ThinPipe, Text: "one replica sends at most 64 KiB to 1 MiB a second", Hold: hold,
			Inject: shape(func(e *Env) harness.Shape {
				return harness.Shape{Rate: 65536 << e.Rand.IntN(5)}
			})},
	}
}

// heal ends the faults of all links and waits until all voters take part.
func (e *Env) heal(voters []*harness.Replica) Heal {
	return func(ctx context.Context) error {
		if err := e.Cluster.Network().Heal(); err != nil {
			return err
		}
		for _, r := range voters {
			if err := e.awaitBack(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
}

// cutBoth cuts both directions between two ends.
func (e *Env) cutBoth(a, b string, how harness.Cut) error {
	n := e.Cluster.Network()
	return errors.Join(n.Cut(a, b, how), n.Cut(b, a, how))
}

func isolate(how harness.Cut, clientsToo bool) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		r, err := e.victim(ctx)
		if err != nil {
			return nil, err
		}
		_, voters := e.members(ctx)
		e.recordVictims("%s", []*harness.Replica{r}, r.ID)
		for _, o := range voters {
			if o != r {
				err = errors.Join(err, e.cutBoth(r.ID, o.ID, how))
			}
		}
		if clientsToo {
			err = errors.Join(err, e.cutBoth(r.ID, harness.Outside, how))
		}
		return e.heal(voters), err
	}
}

func halves(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, ErrNotNow
	}
	e.Rand.Shuffle(len(voters), func(i, j int) { voters[i], voters[j] = voters[j], voters[i] })
	n := (len(voters) - 1) / 2
	less, more := voters[:n], voters[n:]
	e.recordVictims("%s | %s", voters, names(less), names(more))
	var err error
	for _, a := range less {
		for _, b := range more {
			err = errors.Join(err, e.cutBoth(a.ID, b.ID, harness.Drop))
		}
	}
	return e.heal(voters), err
}

func oneWay(deaf bool) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		r, err := e.victim(ctx)
		if err != nil {
			return nil, err
		}
		_, voters := e.members(ctx)
		e.recordVictims("%s", []*harness.Replica{r}, r.ID)
		for _, o := range voters {
			switch {
			case o == r:
			case deaf:
				err = errors.Join(err, e.Cluster.Network().Cut(o.ID, r.ID, harness.Drop))
			default:
				err = errors.Join(err, e.Cluster.Network().Cut(r.ID, o.ID, harness.Drop))
			}
		}
		return e.heal(voters), err
	}
}

func ring(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", voters, names(voters))
	var err error
	for i, from := range voters {
		for j, to := range voters {
			if i != j && j != (i+1)%len(voters) {
				err = errors.Join(err, e.Cluster.Network().Cut(from.ID, to.ID, harness.Drop))
			}
		}
	}
	return e.heal(voters), err
}

func bridge(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, ErrNotNow
	}
	e.Rand.Shuffle(len(voters), func(i, j int) { voters[i], voters[j] = voters[j], voters[i] })
	middle := voters[0]
	half := (len(voters) + 1) / 2
	e.recordVictims("%s | %s | %s", voters, names(voters[1:half]), middle.ID, names(voters[half:]))
	var err error
	for _, a := range voters[1:half] {
		for _, b := range voters[half:] {
			err = errors.Join(err, e.cutBoth(a.ID, b.ID, harness.Drop))
		}
	}
	return e.heal(voters), err
}

func flapping(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	_, voters := e.members(ctx)
	rounds := 3 + e.Rand.IntN(5)
	e.recordVictims("%s, %d times", []*harness.Replica{r}, r.ID, rounds)
	for range rounds {
		for _, o := range voters {
			if o != r {
				err = errors.Join(err, e.cutBoth(r.ID, o.ID, harness.Drop))
			}
		}
		sleep(ctx, seconds(0.05, 1)(e.Rand))
		err = errors.Join(err, e.Cluster.Network().Heal())
		sleep(ctx, seconds(0.05, 1)(e.Rand))
	}
	return e.heal(voters), err
}

func shape(draw func(*Env) harness.Shape) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		r, err := e.victim(ctx)
		if err != nil {
			return nil, err
		}
		_, voters := e.members(ctx)
		s := draw(e)
		e.recordVictims("%s %s", []*harness.Replica{r}, r.ID, shapeText(s))
		for _, o := range voters {
			if o != r {
				err = errors.Join(err, e.Cluster.Network().Shape(r.ID, o.ID, s))
			}
		}
		return e.heal(voters), err
	}
}

func shapeText(s harness.Shape) string {
	switch {
	case s.Rate > 0:
		return fmt.Sprintf("%d KiB/s", s.Rate>>10)
	case s.Stall > 0:
		return fmt.Sprintf("%.0f%%", s.Stall*100)
	}
	return fmt.Sprintf("%s to %s", s.Delay, s.Delay+s.Jitter)
}
