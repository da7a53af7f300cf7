// Package bubble runs a test of whole clusters in a bubble of testing/synctest, where time is virtual.
// It knows only which goroutines hashicorp/raft leaves behind.
package bubble

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

var bubbleName = regexp.MustCompile(`^goroutine \d+ .*(synctest bubble \d+)\]`)

// leaks are functions of hashicorp/raft 1.8.0 whose goroutines may wait without end after raft has
// ended: a leadership transfer waits for the goroutine of a follower that has already ended
// (leadershipTransfer's second send to triggerDeferErrorCh), and the leader's loop waits for the
// transfer.
var leaks = []string{"raft.(*Raft).leadershipTransfer(", "raft.(*Raft).leaderLoop.func2("}

// Test is synctest.Test for clusters. It tolerates the goroutines in leaks that the library
// leaves behind; any other goroutine that remains is a deadlock.
func Test(t *testing.T, f func(t *testing.T)) {
	name := ""
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if name == "" || !onlyLeaks(stacks(), name) {
			panic(p)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		name = nameOf(firstLine(stack()))
		f(t)
	})
}

// onlyLeaks reports whether a bubble has goroutines and all of them are in leaks. dump has the
// stacks of all goroutines.
func onlyLeaks(dump, bubble string) bool {
	found := false
	for g := range strings.SplitSeq(dump, "\n\n") {
		if nameOf(firstLine(g)) != bubble {
			continue
		}
		known := false
		for _, f := range leaks {
			known = known || strings.Contains(g, f)
		}
		if !known {
			return false
		}
		found = true
	}
	return found
}

func nameOf(line string) string {
	if m := bubbleName.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }

// stack returns the stack of the calling goroutine.
func stack() string {
	b := make([]byte, 4<<10)
	return string(b[:runtime.Stack(b, false)])
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	for size := 1 << 20; ; size *= 4 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return string(b[:n])
		}
	}
}
