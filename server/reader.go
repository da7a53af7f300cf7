package server

import (
	"context"
	"errors"

	"rmd/fsm"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
)

// reader implements view.Reader with the committed state.
type reader struct{ *fsm.Machine }

// Watch implements view.Reader.
func (r reader) Watch(after uint64) (view.Subscription, error) {
	s, err := r.Machine.Watch(after)
	if err != nil {
		return nil, tooOld(err)
	}
	return subscription{s}, nil
}

// Follow implements view.Reader.
func (r reader) Follow() (view.Subscription, error) {
	s, err := r.Machine.Follow()
	if err != nil {
		return nil, err
	}
	return subscription{s}, nil
}

type subscription struct{ *fsm.Subscription }

// Next implements view.Subscription.
func (s subscription) Next(ctx context.Context) (view.Batch, error) {
	b, err := s.Subscription.Next(ctx)
	if err != nil {
		return view.Batch{}, tooOld(err)
	}
	return view.Batch(*b), nil
}

// history implements view.LogReader with the log.
type history struct{ r *Replica }

// Entries implements view.LogReader.
func (h history) Entries(_ context.Context, from uint64, count int) ([]view.LogEntry, uint64, uint64, error) {
	entries, first, last, err := h.r.cluster.Entries(from, count)
	if err != nil {
		return nil, first, last, err
	}
	if from != 0 && from < first {
		return nil, first, last, &problem.TooOldError{Oldest: first}
	}
	out := make([]view.LogEntry, len(entries))
	for i, e := range entries {
		out[i] = view.LogEntry(e)
		if e.Type == "command" {
			out[i].Type = "events"
		}
	}
	return out, first, last, nil
}

func tooOld(err error) error {
	var old *fsm.TooOldError
	if errors.As(err, &old) {
		return &problem.TooOldError{Oldest: old.Oldest}
	}
	return err
}
