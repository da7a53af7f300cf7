package local

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"rmd/scheduler/input"
)

// TestReadyAfterTheLog checks that a restarted replica says that it is ready only after it has
// applied the entries committed while it was down.
func TestReadyAfterTheLog(t *testing.T) {
	c := start(t, nil)
	lead := c.Leader()
	back := (lead + 1) % 3
	write := func(n int) {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range n / 16 {
					do[*input.Done](t, c, lead, &input.Audit{Who: "op", Action: "look"})
				}
			})
		}
		wg.Wait()
	}
	for range 3 {
		if err := c.Replicas[back].Close(); err != nil {
			t.Fatal(err)
		}
		write(1600)
		_, committed := c.Replicas[lead].Machine().Fork()
		if err := c.reopen(back); err != nil {
			t.Fatal(err)
		}
		r := c.Replicas[back]
		for end := time.Now().Add(time.Minute); !ready(t, r.HTTPAddr()); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it is not ready within a minute")
			}
		}
		if _, index := r.Machine().Fork(); index < committed {
			t.Fatalf("ready at index %d, when %d had been committed before it was started", index, committed)
		}
		if lead = c.Leader(); lead < 0 || lead == back {
			t.Fatalf("replica %d leads", lead)
		}
	}
	if !ready(t, c.Replicas[lead].HTTPAddr()) {
		t.Error("the leader is not ready")
	}
}

func ready(t *testing.T, addr string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v1/ready", nil)
	if err != nil {
		t.Error(err)
		return false
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return false
	}
	defer a.Body.Close()
	return a.StatusCode == http.StatusOK
}
