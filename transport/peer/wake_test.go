package peer

import (
	"net"
	"testing"
	"time"

	"rmd/internal/portblock"
)

// TestReturningReplicaDialed checks that a replica that was down is dialed when it connects, before
// the pause between two dials is over.
func TestReturningReplicaDialed(t *testing.T) {
	a := listen(t, "a", nil)
	a.mesh.pause, a.mesh.longest = time.Hour, time.Hour
	away, err := net.Listen("tcp", portblock.Loopback(portblock.Open(t).Take())) // nobody else takes it meanwhile
	if err != nil {
		t.Fatal(err)
	}
	addr := away.Addr().String()
	a.Watch(map[string]string{"b": addr}, func() []byte { return []byte("a") }, nil)
	conn, err := away.Accept() // the first dial fails
	if err != nil {
		t.Fatal(err)
	}
	_ = away.Close()
	_ = conn.Close()
	b := listen(t, "b", func(c *Config) { c.Listen = addr })
	b.Watch(map[string]string{"a": a.Addr()}, func() []byte { return []byte("b") }, nil)
	b.hears(t, "a", "a")
	a.hears(t, "b", "b")
}
