package view

import (
	"rmd/api"
	"rmd/fsm/apptoken"
	"rmd/fsm/state"
	"rmd/transport/hadoop/token"
)

// shownApps is the most applications of a token that its document names.
const shownApps = 100

// AppToken returns the document of a token of applications. It has no secrets.
func AppToken(st *state.State, t *apptoken.Token) api.AppToken {
	d := api.AppToken{Number: t.Number, Kind: t.Kind, Service: t.Service, State: t.Phase.String(), EndMillis: t.EndMillis,
		MaxMillis: t.MaxMillis,
		Failures:  t.Failures, LastError: t.Why, Keep: t.Keep, Apps: []string{}, AppCount: len(t.Apps)}
	if t.Phase != apptoken.Lost {
		d.NextMillis = t.NextMillis
	}
	if id, err := (token.Token{Kind: t.Kind, Identifier: t.Identifier}).Identify(); err == nil {
		d.Owner, d.Renewer = id.Owner, id.Renewer
	}
	for _, seq := range t.Apps[:min(len(t.Apps), shownApps)] {
		d.Apps = append(d.Apps, st.Apps.Get(st.Apps.Find(seq)).ID.String())
	}
	return d
}
