package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
)

// Actions of the machine for the tokens of applications.

func drawTokens(t *rapid.T, least int) (out []event.AppToken) {
	for range rapid.IntRange(least, 2).Draw(t, "tokens") {
		out = append(out, event.AppToken{Kind: drawOf(t, "kind", []string{apptoken.KindHDFS, "kms-dt"}), Service: "nn:8020",
			Identifier: []byte{rapid.ByteMax(5).Draw(t, "identifier")}, Password: []byte("secret"), MaxMillis: 1 << 40})
	}
	return out
}

// token draws a token that may be used.
func (m *machine) token(t *rapid.T, may func(k *apptoken.Token) bool) *apptoken.Token {
	var all []*apptoken.Token
	for k := range m.s.AppTokens.Tokens() {
		if may(k) {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		t.Skip("no such token")
	}
	return drawOf(t, "token", all)
}

// holder draws an application with tokens that may be used.
func (m *machine) holder(t *rapid.T, may func(h *apptoken.Holder) bool) *apptoken.Holder {
	var all []*apptoken.Holder
	for h := range m.s.AppTokens.Holders() {
		if may(h) {
			all = append(all, h)
		}
	}
	if len(all) == 0 {
		t.Skip("no such application")
	}
	return drawOf(t, "holder", all)
}

func (m *machine) AddTokens(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps,
		func(a *App) bool { return !a.State.Ended() && m.s.AppTokens.Holder(a.ID.Seq) == nil })
	list := drawTokens(t, 0)
	m.apply(t, &event.TokensAdded{App: a.ID.Seq, Tokens: list, Conf: []byte("conf"),
		Keep:  rapid.IntRange(0, 5).Draw(t, "keep") == 1,
		Fetch: len(list) == 0 || rapid.Bool().Draw(t, "fetch"), DelayMillis: rapid.Int64Range(0, 2).Draw(t, "delay")})
}

func (m *machine) RenewToken(t *rapid.T) {
	k := m.token(t, func(k *apptoken.Token) bool { return k.Phase == apptoken.New || k.Phase == apptoken.Kept })
	end := m.s.Meta.NowMillis + rapid.Int64Range(1, 100).Draw(t, "end")
	m.apply(t, &event.TokenRenewed{Token: k.Number, EndMillis: end, NextMillis: end - 1})
}

func (m *machine) FailTokenCall(t *rapid.T) {
	k := m.token(t, func(k *apptoken.Token) bool { return k.Phase != apptoken.Lost })
	m.apply(t, &event.TokenCallFailed{Token: k.Number, Final: k.Phase != apptoken.Ending && rapid.Bool().Draw(t, "final"),
		NextMillis: m.s.Meta.NowMillis + 5, Why: "refused"})
}

func (m *machine) ReleaseTokens(t *rapid.T) {
	h := m.holder(t, func(h *apptoken.Holder) bool { return h.LeaveMillis != 0 })
	m.apply(t, &event.TokensReleased{App: h.App, Rejected: rapid.Bool().Draw(t, "rejected")})
}

func (m *machine) KeepTokens(t *rapid.T) {
	h := m.holder(t, func(h *apptoken.Holder) bool { return h.LeaveMillis != 0 })
	m.apply(t, &event.TokensKept{App: h.App, LeaveMillis: h.LeaveMillis + 1})
}

// DropToken drops a token that nobody holds any more, or else takes a step towards one.
func (m *machine) DropToken(t *rapid.T) {
	for k := range m.s.AppTokens.Tokens() {
		if k.Phase == apptoken.Ending {
			m.apply(t, &event.TokenDropped{Token: k.Number})
			return
		}
	}
	m.ReleaseTokens(t)
}

func (m *machine) ReplaceTokens(t *rapid.T) {
	h := m.holder(t, func(h *apptoken.Holder) bool { return h.LeaveMillis == 0 })
	m.apply(t, &event.TokensReplaced{Apps: []uint32{h.App}, Tokens: drawTokens(t, 1), Credentials: []byte("HDTS")})
}

func (m *machine) FailFetch(t *rapid.T) {
	h := m.holder(t, func(h *apptoken.Holder) bool { return h.FetchMillis != 0 })
	m.apply(t, &event.TokenFetchFailed{App: h.App, NextMillis: m.s.Meta.NowMillis + 5, Why: "refused"})
}
