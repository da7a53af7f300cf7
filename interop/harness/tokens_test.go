package harness

import (
	"testing"
	"time"
)

// TestTokenStory counts what a log of NameNodes says about the tokens of two applications.
func TestTokenStory(t *testing.T) {
	begin := time.Unix(1000, 0)
	call := func(second int, token string, fresh bool) tokenCall {
		return tokenCall{begin.Add(time.Duration(second) * time.Second), token, fresh}
	}
	k := &Kerberos{TokenLife: 60 * time.Second, TokenMax: 100 * time.Second}
	calls := []tokenCall{
		call(0, "1", true), call(5, "2", true), // of the submissions; they end at 60 and 65
		call(50, "1", false),  // until its latest end, 100
		call(60, "3", true),   // in the place of 2
		call(101, "1", false), // refused
		call(110, "4", true),  // in the place of 1, which ended at 100
		call(110, "5", true),  // one too many
		call(111, "3", false),
	}
	got := tell(calls, 2, k, begin.Add(165*time.Second))
	if got.Issued != 5 || got.Renewed != 2 || len(got.Lost) != 1 || !got.Lost[0].Equal(begin.Add(100*time.Second)) {
		t.Errorf("%+v", got)
	}
	if got := tell(calls, 2, k, begin.Add(171*time.Second)); len(got.Lost) != 3 {
		t.Errorf("after the end of all: %+v", got)
	}
	if got := tell(calls, 2, k, begin.Add(99*time.Second)); len(got.Lost) != 0 {
		t.Errorf("before the first loss: %+v", got)
	}
}
