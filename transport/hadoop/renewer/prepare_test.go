package renewer

import (
	"context"
	"maps"
	"testing"
	"time"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/internal/leadership"
)

// TestPreparesEachServiceOnce for an hour, and tries again in a minute if it cannot.
func TestPreparesEachServiceOnce(t *testing.T) {
	own := event.AppToken{Kind: apptoken.KindRM, Service: "own"}
	w := newWorld(t, hdfs(1), hdfs(2), hdfs(3), own)
	due := map[destination]time.Time{}
	for _, step := range []struct {
		after time.Duration
		fault error
		want  map[string]int
	}{
		{0, errBusy, map[string]int{"nn0": 1, "nn1": 1}},
		{59 * time.Second, nil, map[string]int{"nn0": 1, "nn1": 1}},
		{time.Second, nil, map[string]int{"nn0": 2, "nn1": 2}},
		{59 * time.Minute, nil, map[string]int{"nn0": 2, "nn1": 2}},
		{time.Minute, nil, map[string]int{"nn0": 3, "nn1": 3}},
	} {
		w.now, w.fault = w.now.Add(step.after), step.fault
		due = w.r.prepare(context.Background(), due)
		if !maps.Equal(w.prepared, step.want) {
			t.Errorf("%v later: %v, want %v", step.after, w.prepared, step.want)
		}
	}
}

// TestPreparesWithoutLeadership: a replica that leads later needs it.
func TestPreparesWithoutLeadership(t *testing.T) {
	w := newWorld(t, hdfs(1))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); w.r.Run(ctx, make(chan leadership.Leadership)) }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		n := w.prepared["nn1"]
		w.mu.Unlock()
		if n == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing is prepared")
		}
	}
	cancel()
	<-ended
}
