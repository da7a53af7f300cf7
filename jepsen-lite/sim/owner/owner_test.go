package owner

import "testing"

// TestOwner checks that every goroutine that a marked goroutine starts has its mark, and no other
// one.
func TestOwner(t *testing.T) {
	var o Mark
	seen := make(chan any, 1)
	go func() {
		o = New("x", t)
		go func() { seen <- Current() }()
	}()
	if got := <-seen; got != t {
		t.Errorf("a child is of %v, want %v", got, t)
	}
	if Current() != nil {
		t.Error("the mark went to its maker's maker")
	}
	o.Forget()
	go func() {
		o.MarkGoroutine()
		seen <- Current()
	}()
	if got := <-seen; got != nil {
		t.Error("a mark that was forgotten is known")
	}
}
