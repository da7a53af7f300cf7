// Package format writes what a page shows as text: numbers, amounts of resources, times and states.
package format

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rmd/api"
	"rmd/internal/thousands"
	"rmd/yarn"
)

// Number formats a whole number with thousands separators.
func Number(v any) string { return thousands.Format(v) }

// KindsOf lists the kinds of a resource in the order in which they are shown.
func KindsOf(r api.Resource) []string {
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(r.Names(), func(name string) bool { _, there := r[name]; return !there })
}

// KindsThere lists the kinds that are not 0 in a total. It always includes memory and vcores.
func KindsThere(total api.Resource) []string {
	return slices.DeleteFunc(KindsOf(total), func(name string) bool {
		return total[name] == 0 && name != api.MemoryMB && name != api.VCores
	})
}

// KindName returns the name of a kind on the pages.
func KindName(name string) string {
	if name == api.MemoryMB {
		return "memory"
	}
	return yarn.ShortKind(name)
}

// KindValue formats an amount of one kind, without the name of the kind.
func KindValue(name string, v int64) string {
	if name == api.MemoryMB {
		return yarn.FormatMemory(v)
	}
	return Number(v)
}

// Amount formats the kinds of a resource that are not 0. It returns a dash if all are 0.
func Amount(r api.Resource) string {
	var amounts []string
	for _, name := range KindsOf(r) {
		if r[name] != 0 {
			amounts = append(amounts, yarn.FormatKind(name, r[name]))
		}
	}
	return cmp.Or(strings.Join(amounts, " · "), "–")
}

// Whole uses no-break spaces to keep each number on one line with its unit.
func Whole(amount string) string {
	return strings.ReplaceAll(strings.ReplaceAll(amount, " ", "\u00a0"), "·\u00a0", "· ")
}

// Parts formats a resource for a cell of a table, one text for each kind that is not 0. The kind that
// the cell compares comes first.
func Parts(r api.Resource, first string) (out []string) {
	for _, name := range KindsOf(r) {
		switch {
		case r[name] == 0:
		case name == first:
			out = slices.Insert(out, 0, Whole(yarn.FormatKind(name, r[name])))
		default:
			out = append(out, Whole(yarn.FormatKind(name, r[name])))
		}
	}
	return out
}

// Cell formats a resource for a cell that may be narrow: it breaks between the kinds only, and no
// separator stands at the end of a line.
func Cell(r api.Resource) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(Whole(Amount(r))), "\u00a0· ", " <i>·\u00a0</i>"))
}

// Together keeps each number of a sentence on one line with its unit, or with what it counts.
func Together(text string) string { return number.ReplaceAllString(text, "$1\u00a0") }

var number = regexp.MustCompile(`((?:^|[ (])[0-9][0-9,.]*) `)

// Breaks lets a browser break a code, a key or the name of a class or an event after its punctuation
// and before its words, and nowhere else.
func Breaks(code string) template.HTML {
	return template.HTML(words.ReplaceAllString(breaks.Replace(template.HTMLEscapeString(code)), "$1<wbr>$2"))
}

var words = regexp.MustCompile(`([a-z])([A-Z])`)

var breaks = strings.NewReplacer("_", "_<wbr>", ".", ".<wbr>", ",", ",<wbr>", "/", "/<wbr>", "=", "=<wbr>")

// Span formats a duration with its two largest units.
func Span(millis int64) string {
	d := time.Duration(millis) * time.Millisecond
	switch {
	case d < 0:
		return "–"
	case d < time.Second:
		return strconv.FormatInt(millis, 10) + " ms"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Took formats a short measured time, such as 3.1 ms.
func Took(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	}
	if ms < 10_000 {
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return Span(d.Milliseconds())
}

// When formats a time with its zone. The script of the page may show it in local time. A table whose
// head has the zone shows it there only.
func When(millis int64) template.HTML {
	if millis == 0 {
		return "–"
	}
	t := time.UnixMilli(millis).UTC()
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `"><span class="date">` +
		t.Format("2006-01-02") + ` </span>` + t.Format("15:04:05") + `<span class="zone"> UTC</span></time>`)
}

// ShortID returns an application's id without the cluster timestamp.
func ShortID(id string) string {
	if i := strings.LastIndexByte(id, '_'); i >= 0 {
		return "…" + id[i:]
	}
	return id
}

// ContainerShort returns a container's id without the cluster timestamp.
func ContainerShort(id string) string {
	parts := strings.Split(id, "_")
	if len(parts) < 4 {
		return id
	}
	return "…_" + strings.Join(parts[len(parts)-3:], "_")
}

// AttemptNumber returns the number at the end of an attempt's id.
func AttemptNumber(id string) string {
	return strings.TrimLeft(id[strings.LastIndexByte(id, '_')+1:], "0")
}

// Percent formats a percentage, with one decimal if it is small.
func Percent(f float64) string {
	if f > 0 && f < 0.05 {
		return "<0.1%"
	}
	if f != 0 && f < 10 && f > -10 {
		return strconv.FormatFloat(f, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(f, 'f', 0, 64) + "%"
}

// Word turns an upper-case name into words: NODE_TOO_SMALL becomes node too small.
func Word(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", " ")) }

// VerdictWord returns the status of a verdict in words.
func VerdictWord(s string) string { return strings.ReplaceAll(Word(s), "-", " ") }

// Role returns the role of a replica as the table of replicas has it. Between two leaders, candidates
// come and go.
func Role(role string) string {
	if role == "candidate" {
		return "follower"
	}
	return role
}

// Tone returns the CSS class for the badge of a state. The text of the badge has the same meaning.
func Tone(s string) string {
	switch s {
	case "RUNNING", "healthy", "alive", "FINISHED", "SUCCEEDED", "leader", "REGISTERED", "ok", "fulfilled":
		return "good"
	case "ACCEPTED", "SUBMITTED", "PENDING", "PARKED", "DECOMMISSIONING", "DRAINING", "degraded", "candidate", "reserved",
		"ALLOCATED", "ACQUIRED":
		return "warn"
	case "FAILED", "KILLED", "LOST", "UNHEALTHY", "no-leader", "diverged", "unreachable", "never", "STOPPED", "error":
		return "bad"
	}
	return "calm"
}

// WebURL returns a tracking address if a browser may follow it, otherwise "". Templates show other
// addresses as text.
func WebURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return ""
	}
	return s
}

// Equality says whether digests are equal. It returns "" if they could not be compared.
func Equality(equal *bool) string {
	switch {
	case equal == nil:
		return ""
	case *equal:
		return "equal"
	}
	return "different"
}

// ShortDigest returns the first and last four characters of a digest.
func ShortDigest(s string) string {
	if len(s) <= 8 {
		return s
	}
	return s[:4] + "…" + s[len(s)-4:]
}

// Sentence joins the parts that are not empty.
func Sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// Change describes an election as the replica saw it that shows the page.
func Change(f api.Failover) string { return f.Text("this replica") }
