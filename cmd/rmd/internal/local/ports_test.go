package local

import (
	"net"
	"testing"

	"rmd/config"
)

// TestPortTakenMeanwhile checks that a cluster starts although another program takes a port between
// its choice and its use.
func TestPortTakenMeanwhile(t *testing.T) {
	var taken net.Listener
	c := start(t, func(o *Options) {
		o.Adjust = func(i int, k *config.Config) {
			if i == 2 && taken == nil {
				var err error
				if taken, err = net.Listen("tcp", k.Raft.Listen); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = taken.Close() })
			}
		}
	})
	if taken == nil || len(c.Replicas) != 3 {
		t.Fatalf("%d replicas, taken %v", len(c.Replicas), taken)
	}
}
