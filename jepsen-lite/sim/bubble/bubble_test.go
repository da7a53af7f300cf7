package bubble

import (
	"strings"
	"testing"
)

// TestOnlyLeaks checks that onlyLeaks tolerates goroutines of the library, but none of rmd.
func TestOnlyLeaks(t *testing.T) {
	const other = "goroutine 3 [chan receive (durable), synctest bubble 7]:\nrmd/leader.(*driver).run(...)\n"
	leak := "goroutine 39174 [chan send (durable), synctest bubble 75]:\ngithub.com/hashicorp/raft.(*Raft).leadershipTransfer(0x2e20e40f9088)\n\t/x.go:1003 +0x129\n"
	loop := "goroutine 39173 [chan receive (durable), synctest bubble 75]:\ngithub.com/hashicorp/raft.(*Raft).leaderLoop.func2()\n\t/x.go:740 +0x7f7\n"
	ours := "goroutine 40000 [select (durable), synctest bubble 75]:\nrmd/leader.(*driver).run(...)\n"
	for _, c := range []struct {
		dump []string
		want bool
	}{
		{[]string{other, leak, loop}, true},
		{[]string{other, leak}, true},
		{[]string{other, leak, loop, ours}, false},
		{[]string{ours}, false},
		{[]string{other}, false},
	} {
		if got := onlyLeaks(strings.Join(c.dump, "\n"), "synctest bubble 75"); got != c.want {
			t.Errorf("%v for\n%s", got, strings.Join(c.dump, "\n"))
		}
	}
	Test(t, func(t *testing.T) {
		if got := nameOf(firstLine(stack())); !strings.HasPrefix(got, "synctest bubble ") {
			t.Errorf("the bubble is %q in\n%s", got, stack())
		}
	})
}

// TestBubblePanicsOnLeak checks that bubble panics if another goroutine than those in leaks
// remains.
func TestBubblePanicsOnLeak(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("nothing was told of a goroutine that waits for ever")
		}
	}()
	Test(t, func(*testing.T) {
		never := make(chan struct{})
		go func() { <-never }()
	})
}
