package raftstore

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// TestForgiveProcessPause checks that Forgive subtracts the time in which this process was stopped
// from the age of writes.
func TestForgiveProcessPause(t *testing.T) {
	g := NewGuard(GuardConfig{Logger: hclog.NewNullLogger()})
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	from := time.Now()
	go func() {
		done <- g.write("test", func() error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	later := time.Now().Add(30 * time.Second)
	if age := g.OldestWrite(later); age < 30*time.Second {
		t.Fatalf("the write's age is %s", age)
	}
	g.Forgive(29*time.Second, later)
	if age := g.OldestWrite(later); age < time.Second || age > later.Sub(from)-29*time.Second {
		t.Errorf("after 29 s are forgiven the age is %s", age)
	}
	g.Forgive(time.Hour, later)
	if age := g.OldestWrite(later); age != 0 {
		t.Errorf("more than all is forgiven: %s", age)
	}
	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
