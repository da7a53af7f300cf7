package sim

import "testing"

// TestOwner checks that every goroutine that a marked goroutine starts has its mark, and no other
// one.
func TestOwner(t *testing.T) {
	var o owner
	seen := make(chan any, 1)
	go func() {
		o = newOwner("x", t)
		go func() { seen <- currentOwner() }()
	}()
	if got := <-seen; got != t {
		t.Errorf("a child is of %v, want %v", got, t)
	}
	if currentOwner() != nil {
		t.Error("the mark went to its maker's maker")
	}
	o.forget()
	go func() {
		o.markGoroutine()
		seen <- currentOwner()
	}()
	if got := <-seen; got != nil {
		t.Error("a mark that was forgotten is known")
	}
}
