package twin

import "strings"

// Shrink removes parts of a history as long as the rest shows a difference of the same kind.
// differs plays a history on both schedulers.
func Shrink(h *History, found *Difference, differs func(*History) *Difference) (*History, *Difference) {
	h = &History{Name: h.Name, Steps: h.Steps[:min(found.Step+1, len(h.Steps))]}
	try := func(steps []Step) bool {
		smaller := &History{Name: h.Name, Steps: steps}
		d := differs(smaller)
		if d == nil || d.kind() != found.kind() {
			return false
		}
		found = d
		h.Steps = steps[:min(d.Step+1, len(steps))]
		return true
	}
	for again := true; again; {
		again = leaveOutSteps(h, try)
		again = leaveOutWords(h, try) || again
	}
	return h, found
}

// leaveOutSteps tries to remove smaller and smaller groups of steps.
func leaveOutSteps(h *History, try func([]Step) bool) (any bool) {
	for n := len(h.Steps) / 2; n >= 1; n /= 2 {
		for i := len(h.Steps) - n; i >= 0; i -= n {
			if i+n > len(h.Steps) {
				continue
			}
			steps := append([]Step{}, h.Steps[:i]...)
			for _, s := range h.Steps[i : i+n] {
				if mustStay(s) {
					steps = append(steps, s)
				}
			}
			if len(steps) == i+n {
				continue
			}
			steps = append(steps, h.Steps[i+n:]...)
			any = try(steps) || any
		}
	}
	return any
}

// mustStay reports whether a step must stay. Without room for AMs, unmanaged applications show an
// intended difference, and without YARN's selectors each round of preemption does.
func mustStay(s Step) bool {
	return s.Is("set") && (strings.HasSuffix(s[1], ".maximum-am-resource-percent") ||
		strings.HasSuffix(s[1], ".preemption.selector"))
}

// leaveOutWords tries to remove single words of steps. It removes all asks under one key together.
func leaveOutWords(h *History, try func([]Step) bool) (any bool) {
	for i := len(h.Steps) - 1; i >= 0; i-- {
		for w := 2; i < len(h.Steps) && w < len(h.Steps[i]); w++ {
			s := h.Steps[i]
			if s.Is("restart") && w == 2 { // its size
				continue
			}
			if !s.Is("allocate", "beat", "restart") {
				break
			}
			rest := Step{}
			for k, text := range s {
				if k != w && (askKey(s[w]) == "" || askKey(s[w]) != askKey(text) || named(s[w])) {
					rest = append(rest, text)
				}
			}
			steps := append([]Step{}, h.Steps...)
			steps[i] = rest
			if try(steps) {
				any = true
				w--
			}
		}
	}
	return any
}

// askKey returns the scheduler key of an ask; "" for other words.
func askKey(w string) string {
	v, ok := strings.CutPrefix(w, "ask=")
	if !ok {
		return ""
	}
	k, _, _ := strings.Cut(v, ":")
	return k
}

// named reports whether a word asks for a host or rack. Such a word can be removed alone.
func named(w string) bool { return strings.HasPrefix(w, "ask=") && !strings.Contains(w, ":*:") }
