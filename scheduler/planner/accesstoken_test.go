package planner

import (
	"bytes"
	"fmt"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

func access(name string, b byte, role yarn.Role) *input.SetAccessToken {
	return &input.SetAccessToken{Name: name, Hash: bytes.Repeat([]byte{b}, 32), Role: role,
		ExpiresMillis: 1 << 37, Who: "ann"}
}

// TestAccessTokens creates, replaces and revokes tokens. The first token must be an
// administrator's. Without force, an input must not leave tokens of which none is an
// administrator's.
func TestAccessTokens(t *testing.T) {
	h := newHouse(t, 0, false)
	h.now = 1 << 36
	with := func(in *input.SetAccessToken, change func(*input.SetAccessToken)) *input.SetAccessToken {
		change(in)
		return in
	}
	revoke := func(name string, force bool) *input.RevokeAccessToken {
		return &input.RevokeAccessToken{Name: name, Force: force}
	}
	for i, step := range []struct {
		in   input.Input
		want input.Code // empty if the input is accepted
	}{
		{access("ci", 1, yarn.RoleOperator), input.NoAdminLeft},
		{access("boss", 2, yarn.RoleAdmin), ""},
		{access("boss", 2, yarn.RoleAdmin), ""}, // a retry, because the first answer was lost
		{access("ci", 1, yarn.RoleOperator), ""},
		{access("ci", 3, yarn.RoleOperator), input.TokenExists},
		{with(access("ci", 3, yarn.RoleSubmit), func(in *input.SetAccessToken) { in.Replace = true }), ""},
		{access("other", 3, yarn.RoleRead), input.InvalidRequest},
		{access("", 4, yarn.RoleRead), input.InvalidRequest},
		{access("-x", 4, yarn.RoleRead), input.InvalidRequest},
		{access("a b", 4, yarn.RoleRead), input.InvalidRequest},
		{access("x", 4, 0), input.InvalidRequest},
		{access("x", 4, 9), input.InvalidRequest},
		{with(access("x", 4, yarn.RoleRead), func(in *input.SetAccessToken) { in.Hash = in.Hash[:31] }),
			input.InvalidRequest},
		{with(access("x", 4, yarn.RoleRead), func(in *input.SetAccessToken) { in.ExpiresMillis = h.now }),
			input.InvalidRequest},
		{with(access("x", 4, yarn.RoleRead), func(in *input.SetAccessToken) { in.ExpiresMillis = 1 << 60 }),
			input.InvalidRequest},
		{with(access("boss", 5, yarn.RoleRead), func(in *input.SetAccessToken) { in.Replace = true }), input.NoAdminLeft},
		{revoke("boss", false), input.NoAdminLeft},
		{revoke("nobody", false), input.NoSuchToken},
		{revoke("boss", true), ""},
		{revoke("ci", false), ""}, // the last token may go, since without tokens nobody is locked out
		{access("ci", 6, yarn.RoleOperator), input.NoAdminLeft},
		{with(access("ci", 6, yarn.RoleOperator), func(in *input.SetAccessToken) { in.Force = true }), ""},
	} {
		got := input.Code("")
		if f := h.answer(step.in).Refused(); f != nil {
			got = f.Reason
		}
		if got != step.want {
			t.Fatalf("step %d: the answer to %+v has code %q, want %q", i, step.in, got, step.want)
		}
	}
	if got, _ := h.p.st.Access.Find("ci"); got.Role != yarn.RoleOperator || got.By != "ann" {
		t.Errorf("token ci has role %v and was made by %q, want %v and \"ann\"",
			got.Role, got.By, yarn.RoleOperator)
	}
}

// TestAccessTokenTableFull checks that a new token replaces an expired token when the table is
// full, and that it never replaces a valid one.
func TestAccessTokenTableFull(t *testing.T) {
	h := newHouse(t, 0, false)
	h.now = 1000
	for i := range 1000 {
		in := access(fmt.Sprintf("t%d", i), 1, yarn.RoleAdmin)
		in.Hash[0], in.Hash[1] = byte(i), byte(i>>8)
		in.ExpiresMillis = 1_000_000 - int64(i)
		if f := h.answer(in).Refused(); f != nil {
			t.Fatal(f)
		}
	}
	if f := h.answer(access("more", 9, yarn.RoleAdmin)).Refused(); f == nil || f.Reason != input.TooLarge {
		t.Fatalf("a token above the limit of 1000: refusal %v, want code %s", f, input.TooLarge)
	}
	h.now = 1_000_000 - 998
	if f := h.answer(access("more", 9, yarn.RoleAdmin)).Refused(); f != nil {
		t.Fatal(f)
	}
	if _, ok := h.p.st.Access.Find("t999"); ok || len(h.p.st.Access) != 1000 {
		t.Error("the one that expired first was to go")
	}
}

func TestSetAutopilot(t *testing.T) {
	h := newHouse(t, 0, false)
	good := input.SetAutopilot{DeadServerMillis: 60_000, LastContactMillis: 1, MaxTrailingLogs: 5}
	for name, change := range map[string]func(*input.SetAutopilot){
		"clean up alone": func(in *input.SetAutopilot) { in.CleanupDeadServers, in.MinQuorum = true, 2 },
		"quorum":         func(in *input.SetAutopilot) { in.MinQuorum = 8 },
		"dead":           func(in *input.SetAutopilot) { in.DeadServerMillis-- },
		"contact":        func(in *input.SetAutopilot) { in.LastContactMillis = 0 },
		"stable":         func(in *input.SetAutopilot) { in.StabilizationMillis = -1 },
		"for ever":       func(in *input.SetAutopilot) { in.LastContactMillis = 1 << 60 },
	} {
		in := good
		change(&in)
		if f := h.answer(&in).Refused(); f == nil || f.Reason != input.InvalidRequest {
			t.Errorf("SetAutopilot with a bad value (%s): refusal %v, want code %s",
				name, f, input.InvalidRequest)
		}
	}
	if f := h.answer(&good).Refused(); f != nil || !h.p.st.Autopilot.Set || h.p.st.Autopilot.MaxTrailingLogs != 5 {
		t.Fatalf("SetAutopilot with good values: refusal %v, then %+v, want none, then it is set with MaxTrailingLogs 5",
			f, h.p.st.Autopilot)
	}
}

// answer plans one input.
func (h *house) answer(in input.Input) input.Reply {
	reply, _ := h.p.Plan(h.now, input.Request{Input: in})
	return reply
}
