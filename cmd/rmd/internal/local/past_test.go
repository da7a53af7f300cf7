package local

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestPastIsRebuilt checks that replicas rebuild an earlier state exactly: from the log alone and
// from a snapshot, in any order, on a follower and on the leader.
func TestPastIsRebuilt(t *testing.T) {
	c := start(t, nil)
	lead := c.Leader()
	digests := map[uint64]uint64{}
	note := func(i int) {
		do[*input.RegisterNodeReply](t, c, lead,
			&input.RegisterNode{ID: yarn.NodeID{Host: fmt.Sprint("n", i), Port: 1}, Rack: "/r",
				Total: yarn.NewResource(4096, 4)})
		st, index := c.Replicas[lead].Machine().Fork()
		digests[index] = st.Digest()
	}
	for i := range 10 {
		note(i)
	}
	if err := c.Replicas[lead].Cluster().Snapshot(); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		note(10 + i)
	}
	for _, i := range []int{lead, (lead + 1) % 3} {
		r := c.Replicas[i]
		for index, want := range digests { // map order: forwards and back
			if err := r.Machine().WaitApplied(t.Context(), index); err != nil {
				t.Fatal(err)
			}
			st, err := r.Past(t.Context(), index)
			if err != nil || st.Digest() != want {
				t.Fatalf("replica %d at index %d: %v", i, index, err)
			}
		}
		resp, err := http.Get("http://" + r.HTTPAddr() + "/ui/replay?at=4")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "Paused at index 4") ||
			!strings.Contains(string(body), "The cluster at this index") {
			t.Errorf("replica %d: %d %v %s", i, resp.StatusCode, err, body)
		}
	}
}
