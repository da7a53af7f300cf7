package tracker

import (
	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// firstSequence is the number of replaced tokens before any was replaced.
const firstSequence = 1

// tokenSequence returns the number of the replaced tokens. A node keeps the number of the last
// credentials that it got.
func tokenSequence(st *state.State) int64 { return firstSequence + int64(st.AppTokens.Sequence()) }

// tokenNeeds returns the number of the replaced tokens that nodes must have, 0 if there are none, and
// whether an ended application still has tokens.
func tokenNeeds(st *state.State) (sequence int64, releases bool) {
	if st.AppTokens.Replaced() > 0 {
		sequence = tokenSequence(st)
	}
	return sequence, st.AppTokens.Leaving() > 0
}

// systemCredentials returns the new tokens of all applications. A node replaces all that it had.
func systemCredentials(st *state.State) (out []*proto.SystemCredentialsForAppsProto) {
	for h := range st.AppTokens.Holders() {
		if slot := st.Apps.Find(h.App); slot != 0 && len(h.Credentials) > 0 {
			out = append(out, &proto.SystemCredentialsForAppsProto{AppId: wire.ApplicationIDProto(st.Apps.Get(slot).ID),
				CredentialsForApp: h.Credentials})
		}
	}
	return out
}
