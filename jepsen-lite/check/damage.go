package check

import (
	"fmt"

	"rmd/jepsen-lite/history"
)

// damage checks that every deliberate damage was noticed: S16.
func (j *judge) damage() {
	f := j.found["S16"]
	f.Unit = "damages"
	begun := map[int]*history.Fault{} // by id
	for _, x := range j.h.Faults {
		if x.When == history.Begin {
			begun[x.ID] = x
		}
		if x.Outcome == "" {
			continue
		}
		f.Checked++
		switch x.Outcome {
		case history.Refused, history.Healed, history.Stopped, history.Unread:
			continue
		}
		chain := []Link{faultLink(x, fmt.Sprintf("it was %s", x.Outcome))}
		if b := begun[x.ID]; b != nil {
			chain = append([]Link{faultLink(b, b.Text)}, chain...)
		}
		f.fail(x.NS, chain, "%s on %s was %s: %s", x.Kind, list(x.On), x.Outcome, x.Text)
	}
}

func faultLink(x *history.Fault, text string) Link {
	return Link{NS: x.NS, Lane: list(x.On), Text: fmt.Sprintf("%s %s %s", x.Kind, x.When, text)}
}
