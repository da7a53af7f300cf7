package harness

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// TokenStory is what the NameNodes have seen of the tokens of applications.
type TokenStory struct {
	Issued, Renewed int
	// Replaced are the tokens that had a successor before their end.
	Replaced int
	// Lost has the end of each token that had none, while its application needed one.
	Lost []time.Time
}

// issued is what the NameNodes say when they give out a token or renew one.
var issued = regexp.MustCompile(`(?m)^(\S+ \S+) INFO \S+: (Creating password for|Token renewal for) identifier: .*HDFS_DELEGATION_TOKEN .*sequenceNumber=(\d+)`)

// tokenCall is one call for a token.
type tokenCall struct {
	at    time.Time
	token string
	fresh bool
}

func (h *HDFS) tokenCalls() (calls []tokenCall) {
	for _, n := range h.names {
		for _, m := range issued.FindAllStringSubmatch(n.Logged(), -1) {
			at, err := time.ParseInLocation("2006-01-02 15:04:05,000", m[1], time.UTC)
			if err == nil {
				calls = append(calls, tokenCall{at, m[3], strings.HasPrefix(m[2], "Creating")})
			}
		}
	}
	slices.SortFunc(calls, func(a, b tokenCall) int { return a.at.Compare(b.at) })
	return calls
}

// Tokens tells the story of the tokens of some applications until a time. Each had one token when it
// was submitted. A later token succeeds the one that ends first, because NameNodes do not know for
// which application a ResourceManager gets a token.
func (h *HDFS) Tokens(apps int, until time.Time) TokenStory {
	return tell(h.tokenCalls(), apps, h.c.Kerberos, until)
}

func tell(calls []tokenCall, apps int, k *Kerberos, until time.Time) (s TokenStory) {
	type current struct {
		token    string
		end, max time.Time
	}
	var used []*current
	for _, call := range calls {
		if call.at.After(until) {
			break
		}
		at := slices.IndexFunc(used, func(u *current) bool { return u.token == call.token })
		switch {
		case !call.fresh:
			s.Renewed++
			if at >= 0 {
				used[at].end = earliest(call.at.Add(k.TokenLife), used[at].max)
			}
			continue
		case s.Issued >= apps:
			old := slices.MinFunc(used, func(a, b *current) int { return cmp.Compare(a.end.UnixNano(), b.end.UnixNano()) })
			if call.at.After(old.end) {
				s.Lost = append(s.Lost, old.end)
			} else {
				s.Replaced++
			}
			used = slices.DeleteFunc(used, func(u *current) bool { return u == old })
		}
		s.Issued++
		used = append(used, &current{call.token, call.at.Add(k.TokenLife), call.at.Add(k.TokenMax)})
	}
	for _, u := range used {
		if u.end.Before(until) {
			s.Lost = append(s.Lost, u.end)
		}
	}
	return s
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
