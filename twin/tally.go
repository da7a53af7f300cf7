package twin

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// intendedMark is the prefix of a line that names an intended difference in a step.
const intendedMark = "intended "

// tally counts in how many histories and steps each intended difference had an effect.
type tally map[string]*struct{ histories, steps int }

// add counts the intended differences in Hadoop's observations of a history.
func (t tally) add(history []Observation) {
	met := map[string]bool{}
	for _, o := range history {
		now := map[string]bool{}
		for _, line := range o {
			if name, ok := strings.CutPrefix(line, intendedMark); ok {
				now[name] = true
			}
		}
		for name := range now {
			if t[name] == nil {
				t[name] = &struct{ histories, steps int }{}
			}
			t[name].steps++
			if !met[name] {
				met[name] = true
				t[name].histories++
			}
		}
	}
}

func (t tally) write(out io.Writer) {
	if len(t) == 0 {
		return
	}
	fmt.Fprintf(out, "%-26s %10s %8s\n", "intended difference", "histories", "steps")
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(out, "%-26s %10d %8d\n", name, t[name].histories, t[name].steps)
	}
}
