package scheduler

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
)

// Witness follows a log and says why each of its events was decided, from the
// state just before it: a planner that plans nothing, and is told what was
// decided. It is not for concurrent use.
type Witness struct{ p *Planner }

// NewWitness makes a witness that takes st over.
func NewWitness(st *state.State) (*Witness, error) {
	p, err := New(st, Options{})
	if err != nil {
		return nil, err
	}
	return &Witness{p}, nil
}

// State is what the witness has come to. It is for reading.
func (w *Witness) State() *state.State { return w.p.st }

// Follow applies the events of one entry. With say it tells why each of them was
// decided; one that has no reason but its own has an empty one. After an error
// the witness is of no use any more.
func (w *Witness) Follow(events []event.Event, say bool) ([]Because, error) {
	var out []Because
	if say {
		out = make([]Because, len(events))
	}
	for i, e := range events {
		if say {
			out[i] = w.p.because(e)
		}
		sub := w.p.subjectOf(e)
		if err := w.p.st.Apply(e); err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
		w.p.follow(e, sub)
	}
	return out, nil
}
