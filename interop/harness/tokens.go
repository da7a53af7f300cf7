package harness

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// TokenStory is what the NameNodes have seen of the tokens of applications.
type TokenStory struct {
	Issued, Renewed int
	// Lost has the end of each token that ended when fewer tokens than applications were left.
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

// Tokens tells the story of the tokens of some applications until a time. NameNodes do not know for
// which application a ResourceManager gets a token, so that the end of one that was replaced may hide
// a loss for a while.
func (h *HDFS) Tokens(apps int, until time.Time) TokenStory {
	return tell(h.tokenCalls(), apps, h.c.Kerberos, until)
}

// tokenLife is the time in which a token is valid.
type tokenLife struct{ begin, end, max time.Time }

func tell(calls []tokenCall, apps int, k *Kerberos, until time.Time) (s TokenStory) {
	lives := map[string]*tokenLife{}
	for _, call := range calls {
		life := lives[call.token]
		switch {
		case call.at.After(until):
		case call.fresh:
			s.Issued++
			lives[call.token] = &tokenLife{call.at, call.at.Add(k.TokenLife), call.at.Add(k.TokenMax)}
		case life != nil && call.at.Before(life.end): // a later one is refused
			s.Renewed++
			life.end = earliest(call.at.Add(k.TokenLife), life.max)
		}
	}
	for _, life := range lives {
		left := 0
		for _, other := range lives {
			if !other.begin.After(life.end) && other.end.After(life.end) {
				left++
			}
		}
		if life.end.Before(until) && left < apps {
			s.Lost = append(s.Lost, life.end)
		}
	}
	slices.SortFunc(s.Lost, time.Time.Compare)
	return s
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
