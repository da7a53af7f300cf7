package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// terminateWithin is how long a replica may take to end after SIGTERM.
const terminateWithin = 15 * time.Second

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// await waits until a condition holds. It returns an error after within.
func await(ctx context.Context, what string, within time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for !holds() {
		sleep(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("not within %s: %s", within, what)
		}
	}
	return nil
}

// lastLines returns the last n lines of a text, on one line.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// between returns the text between open and end, or "" if one of them is missing.
func between(text, open, end string) string {
	_, rest, ok := strings.Cut(text, open)
	in, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return ""
	}
	return in
}
