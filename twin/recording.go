package twin

import "strings"

// Recording is a history with what Hadoop's scheduler held after each of its steps. In its file the
// lines of what changed follow their step: "+" a line that is new, "-" one that is not there any more.
type Recording struct {
	About   []string // remarks at the head of the file
	History *History
	Hadoop  []Observation
}

// ParseRecording reads one.
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
		o := r.Hadoop[i]
		if o == nil {
			continue
		}
		line("=")
		for _, gone := range without(now, o) {
			line("-", gone)
		}
		for _, fresh := range without(o, now) {
			line("+", fresh)
		}
		now = plain(o)
	}
	return b.String()
}

// plain is an observation without what the other program says of intended differences.
func plain(o Observation) Observation { return without(o, nil) }
