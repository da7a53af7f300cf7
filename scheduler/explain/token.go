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
