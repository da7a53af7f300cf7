package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

func (h *fixture) issue(t testing.TB, c *ipc.Call, renewer string) (*proto.TokenProto, token.Delegation) {
	t.Helper()
	r, err := h.svc.GetDelegationToken(context.Background(), c,
		&proto.GetDelegationTokenRequestProto{Renewer: new(renewer)})
	if err != nil {
		t.Fatal(err)
	}
	d, err := token.ParseDelegation(r.GetToken().GetIdentifier())
	if err != nil {
		t.Fatal(err)
	}
	return r.GetToken(), d
}

func (h *fixture) renew(user string, p *proto.TokenProto) (int64, error) {
	r, err := h.svc.RenewDelegationToken(context.Background(), as(user), &proto.RenewDelegationTokenRequestProto{Token: p})
	return int64(r.GetNewExpiryTime()), err
}

func (h *fixture) cancel(user string, p *proto.TokenProto) error {
	_, err := h.svc.CancelDelegationToken(context.Background(), as(user),
		&proto.CancelDelegationTokenRequestProto{Token: p})
	return err
}

// TestDelegationToken issues, uses, renews and cancels a delegation token.
func TestDelegationToken(t *testing.T) {
	h := newFixture(t)
	c := as("ann")
	c.Caller.RealUser = "oozie"
	p, d := h.issue(t, c, "yarn/host@REALM")
	if d.Owner != "ann" || d.Renewer != "yarn" || d.RealUser != "oozie" || p.GetKind() != token.KindDelegation ||
		p.GetService() != "" || d.MaxMillis <= d.IssuedMillis {
		t.Errorf("token %v: %+v", p, d)
	}
	user, password, err := h.svc.Password(context.Background(), p.GetIdentifier())
	if err != nil || user != "ann" || string(password) != string(p.GetPassword()) {
		t.Errorf("it lets in %q: %v", user, err)
	}
	h.now += int64(time.Hour / time.Millisecond)
	until, err := h.renew("yarn", p)
	if err != nil || until <= h.now || until > d.MaxMillis {
		t.Errorf("renewed until %d: %v", until, err)
	}
	if err := h.cancel("ann", p); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.svc.Password(context.Background(), p.GetIdentifier()); err == nil ||
		!strings.HasPrefix(err.Error(), ipc.ClassInvalidToken) {
		t.Errorf("after its end: %v", err)
	}
}

func TestDelegationTokenRefusals(t *testing.T) {
	h := newFixture(t)
	p, d := h.issue(t, as("ann"), "yarn")
	const denied = "org.apache.hadoop.security.AccessControlException: "
	_, err := h.renew("eve", p)
	refused(t, err, ipc.ClassYarn, denied+"eve tries to renew a token "+tokenText(d)+" with non-matching renewer yarn")
	refused(t, h.cancel("eve", p), ipc.ClassYarn, denied+"eve is not authorized to cancel the token "+tokenText(d))
	if !strings.Contains(tokenText(d), "(RM_DELEGATION_TOKEN owner=ann, renewer=yarn, realUser=, issueDate=") {
		t.Errorf("tokenText = %q, want YARN's text of a token of ann with renewer yarn", tokenText(d))
	}

	forged := &proto.TokenProto{Identifier: p.GetIdentifier(), Password: make([]byte, 20), Kind: p.Kind,
		Service: p.Service}
	for name, bad := range map[string]*proto.TokenProto{"forged": forged, "no token": nil, "empty": {Kind: p.Kind}} {
		_, err := h.renew("yarn", bad)
		if e, ok := err.(*ipc.Error); !ok || !strings.HasPrefix(e.Message, ipc.ClassInvalidToken+": ") ||
			e.Class != ipc.ClassYarn {
			t.Errorf("renew, %s: %v, want an error of class %s that names %s",
				name, err, ipc.ClassYarn, ipc.ClassInvalidToken)
		}
		if err := h.cancel("ann", bad); err == nil {
			t.Errorf("%s is cancelled", name)
		}
	}

	alone, d := h.issue(t, as("ann"), "")
	_, err = h.renew("yarn", alone)
	refused(t, err, ipc.ClassYarn, denied+"yarn tried to renew a token "+tokenText(d)+" without a renewer")
	if err := h.cancel("yarn", p); err != nil {
		t.Errorf("its renewer cancels it: %v", err)
	}
	h.now += int64(30 * 24 * time.Hour / time.Millisecond)
	if _, err := h.renew("yarn", alone); err == nil {
		t.Error("a token that ran out is renewed")
	}
	if _, _, err := h.svc.Password(context.Background(), alone.GetIdentifier()); err == nil {
		t.Error("a token that ran out lets in")
	}
	if _, err := h.svc.GetDelegationToken(context.Background(), as(""),
		&proto.GetDelegationTokenRequestProto{Renewer: new("yarn")}); err == nil {
		t.Error("nobody gets a token")
	}
}

// TestDelegationTokenNeedsTicket checks who may handle tokens where Kerberos authenticates callers.
func TestDelegationTokenNeedsTicket(t *testing.T) {
	h := newFixture(t)
	h.svc.cfg.ShortName = func(p string) (string, error) {
		if p == "bad" {
			return "", errors.New("No rules applied to bad")
		}
		return "mapped", nil
	}
	ticket := as("ann")
	ticket.Caller.Kind = ipc.KindKerberos
	p, d := h.issue(t, ticket, "rm/host@EXAMPLE")
	if d.Renewer != "mapped" {
		t.Errorf("the renewer is %q", d.Renewer)
	}
	if _, err := h.svc.GetDelegationToken(context.Background(), ticket,
		&proto.GetDelegationTokenRequestProto{Renewer: new("bad")}); err == nil {
		t.Error("a renewer without a name is taken")
	}
	for _, kind := range []string{ipc.KindSimple, ipc.KindToken} {
		c := as("ann")
		c.Caller.Kind = kind
		_, issued := h.svc.GetDelegationToken(context.Background(), c,
			&proto.GetDelegationTokenRequestProto{Renewer: new("yarn")})
		_, renewed := h.svc.RenewDelegationToken(context.Background(), c, &proto.RenewDelegationTokenRequestProto{Token: p})
		_, cancelled := h.svc.CancelDelegationToken(context.Background(), c,
			&proto.CancelDelegationTokenRequestProto{Token: p})
		for done, err := range map[string]error{"issued": issued, "renewed": renewed, "cancelled": cancelled} {
			refused(t, err, ipc.ClassYarn, "java.io.IOException: Delegation Token can be "+done+
				" only with kerberos authentication")
		}
	}
	if _, err := h.svc.CancelDelegationToken(context.Background(), ticket,
		&proto.CancelDelegationTokenRequestProto{Token: p}); err != nil {
		t.Error(err)
	}
}

// TestNamesWithRealm checks that a user whose name contains a realm, as the rules of the mechanism mit
// allow, is another one than the user without it.
func TestNamesWithRealm(t *testing.T) {
	h := newFixture(t)
	h.svc.cfg.ShortName = func(p string) (string, error) { return strings.TrimSuffix(p, "@EXAMPLE"), nil }
	ticket := func(user string) *ipc.Call {
		c := as(user)
		c.Caller.Kind = ipc.KindKerberos
		return c
	}
	p, _ := h.issue(t, ticket("ann"), "yarn@EXAMPLE")
	for _, user := range []string{"yarn@OTHER", "yarn/host@OTHER", "ann@OTHER"} {
		if _, err := h.svc.RenewDelegationToken(t.Context(), ticket(user),
			&proto.RenewDelegationTokenRequestProto{Token: p}); err == nil {
			t.Errorf("%s renews a token for yarn", user)
		}
		if _, err := h.svc.CancelDelegationToken(t.Context(), ticket(user),
			&proto.CancelDelegationTokenRequestProto{Token: p}); err == nil {
			t.Errorf("%s cancels a token of ann for yarn", user)
		}
	}
	if _, err := h.svc.RenewDelegationToken(t.Context(), ticket("yarn"),
		&proto.RenewDelegationTokenRequestProto{Token: p}); err != nil {
		t.Error(err)
	}
	for _, user := range []string{"ann", "ann@OTHER"} {
		id := h.newID(t)
		body := encode(t, &proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: subOf(id)})
		if _, err := h.svc.submitApplication(t.Context(), ticket(user), body); err != nil {
			t.Fatal(err)
		}
		if got := h.report(t, user, id).GetUser(); got != user {
			t.Errorf("the application of %s belongs to %s", user, got)
		}
	}
}

// TestPasswordWaitsForTheLeader checks that a replica that does not know a token yet catches up
// before it answers. InvalidToken would end the holder's retries.
func TestPasswordWaitsForTheLeader(t *testing.T) {
	h := newFixture(t)
	before := h.st
	p, _ := h.issue(t, as("ann"), "yarn")
	h.behind = before
	if user, _, err := h.svc.Password(context.Background(), p.GetIdentifier()); user != "ann" || err != nil {
		t.Errorf("Password of a token not known yet = user %q, %v, want ann", user, err)
	}
	h.behind, h.readErr = before, coded("NO_LEADER")
	_, _, err := h.svc.Password(context.Background(), p.GetIdentifier())
	refused(t, err, ipc.ClassStandby, "error NO_LEADER")
	h.behind = before
	_, err = h.renew("yarn", p)
	refused(t, err, ipc.ClassStandby, "error NO_LEADER")
}
