package twin

import "strings"

// Recording is a history with the observations of Hadoop's scheduler. In its file, "=" after a step
// marks a step with an observation, and is followed by the lines that changed: "+" before a new
// line, "-" before one that is gone.
type Recording struct {
	About   []string // comments at the head of the file
	History *History
	Hadoop  []Observation
}

// ParseRecording reads a recording.
func ParseRecording(name, text string) *Recording {
	r := &Recording{History: &History{Name: name}}
	var now Observation
	var seen bool // the step has an observation
	end := func() {
		if len(r.History.Steps) > 0 {
			var o Observation
			if seen {
				o = append(o, now...)
			}
			r.Hadoop = append(r.Hadoop, o)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			r.About = append(r.About, line)
		case mark == "+":
			now, seen = append(now, rest), true
		case mark == "-":
			now, seen = without(now, Observation{rest}), true
		case mark == "=":
			seen = true
		default:
			end()
			seen = false
			r.History.Steps = append(r.History.Steps, strings.Fields(line))
		}
	}
	end()
	return r
}

func (r *Recording) String() string {
	var b strings.Builder
	line := func(words ...string) { b.WriteString(strings.Join(words, " ") + "\n") }
	for _, remark := range r.About {
		line(remark)
	}
	var now Observation
	for i, s := range r.History.Steps {
		line(s.String())
		o := plain(r.Hadoop[i])
		if o == nil { // a round of preemption may have intended differences alone
			continue
		}
		line("=")
		for _, gone := range without(now, o) {
			line("-", gone)
		}
		for _, fresh := range without(o, now) {
			line("+", fresh)
		}
		now = o
	}
	return b.String()
}

// plain returns an observation without the lines about intended differences.
func plain(o Observation) Observation { return without(o, nil) }
