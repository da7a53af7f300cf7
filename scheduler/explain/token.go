package explain

import (
	"fmt"
	"strings"

	"rmd/fsm/apptoken"
	"rmd/fsm/state"
)

// tokenWait says for which tokens an application waits before it may start.
func tokenWait(st *state.State, a *state.App) string {
	h := st.AppTokens.Holder(a.ID.Seq)
	var list []string
	if h.FetchMillis != 0 {
		list = append(list, "a token of the file system"+failures(h.Failures, h.Why))
	}
	for _, n := range h.Tokens {
		if t := st.AppTokens.Token(n); t.Phase == apptoken.New {
			list = append(list, fmt.Sprintf("the renewal of its %s for %s%s", t.Kind, t.Service, failures(t.Failures, t.Why)))
		}
	}
	return "it may not start yet: it waits for " + strings.Join(list, ", ")
}

func failures(n uint32, why string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d failed tries: %s)", n, why)
}

// doomed returns the tokens of an application that it will lose as things are, or has lost.
func doomed(st *state.State, a *state.App) (out []Token) {
	h := st.AppTokens.Holder(a.ID.Seq)
	if h == nil {
		return nil
	}
	for _, n := range h.Tokens {
		if t := st.AppTokens.Token(n); t.Doomed(st.Meta.NowMillis) {
			out = append(out, Token{Number: n, Kind: t.Kind, Service: t.Service, Lost: t.Phase == apptoken.Lost,
				EndMillis: t.EndMillis,
				Text:      fmt.Sprintf("its %s for %s %s", t.Kind, t.Service, doom(t, st.Meta.NowMillis))})
		}
	}
	return out
}

// doom says how a token is lost, and when.
func doom(t *apptoken.Token, now int64) string {
	left := max(t.EndMillis-now, 0) / 60_000
	switch {
	case t.Phase == apptoken.Lost:
		return "is lost: " + t.Why
	case t.Failures > 0:
		return fmt.Sprintf("ends in %d min and is not renewed%s", left, failures(t.Failures, t.Why))
	}
	return fmt.Sprintf("ends in %d min: its service renews it no longer", left)
}
