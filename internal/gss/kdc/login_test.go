package kdc_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/internal/gss/kdc"
)

// meet shows a ticket to an acceptor and checks its reply.
func meet(a *gss.Acceptor, t gss.Ticket) error {
	i, token, err := gss.Initiate(t, time.Now())
	if err != nil {
		return err
	}
	_, reply, err := a.Accept(token, gss.Peer{})
	if err != nil {
		return err
	}
	_, err = i.Finish(reply)
	return err
}

// TestLogin gets tickets from a KDC, uses them while the KDC is gone, and gets new ones when most of
// their life has passed.
func TestLogin(t *testing.T) {
	k := gsstest.StartKDC(t)
	ctx := context.Background()
	const service = "nn/host.example"
	acceptor, err := gss.OpenAcceptor(gss.Config{Principal: service + "@TEST", Keytab: k.Keytab(service)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := kdc.NewLogin("rm/one", k.Keytab("rm/one"), k.Path("krb5.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Principal(); got != "rm/one@TEST" {
		t.Errorf("the principal is %s", got)
	}
	first, err := l.Ticket(ctx, service)
	if err != nil {
		t.Fatal(err)
	}
	if err := meet(acceptor, first); err != nil {
		t.Error(err)
	}
	if again, err := l.Ticket(ctx, service); err != nil || !same(first, again) {
		t.Errorf("a fresh ticket is not used again: %v", err)
	}
	if _, err := l.Ticket(ctx, "nobody/host.example"); err == nil ||
		!strings.Contains(err.Error(), "nobody/host.example") {
		t.Errorf("a ticket for a service that the KDC does not know: %v", err)
	}

	l.Forget(service)
	if other, err := l.Ticket(ctx, service); err != nil || same(first, other) {
		t.Errorf("a ticket that was forgotten is used again: %v", err)
	}
	l.Age(service, 0.81)
	renewed, err := l.Ticket(ctx, service)
	if err != nil || same(first, renewed) {
		t.Errorf("no new ticket after 80 %% of its life: %v", err)
	}
	if err := meet(acceptor, renewed); err != nil {
		t.Error(err)
	}

	conf, err := os.ReadFile(k.Path("krb5.conf"))
	if err != nil {
		t.Fatal(err)
	}
	gone := strings.NewReplacer("kdc = 127.0.0.1", "kdc = 127.0.0.2").Replace(string(conf))
	if err := os.WriteFile(k.Path("krb5.conf"), []byte(gone), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Forget(service)
	if kept, err := l.Ticket(ctx, service); err != nil || !same(renewed, kept) {
		t.Errorf("without a KDC a ticket that was forgotten is not used: %v", err)
	}
	l.Age(service, 0.9)
	if kept, err := l.Ticket(ctx, service); err != nil || !same(renewed, kept) {
		t.Errorf("without a KDC the old ticket is not used: %v", err)
	}
	l.Age(service, 1)
	if _, err := l.Ticket(ctx, service); err == nil {
		t.Error("a ticket is used after its end")
	}
}

func same(a, b gss.Ticket) bool { return string(a.Key.KeyValue) == string(b.Key.KeyValue) }

// TestLoginRefused has what a login cannot begin with.
func TestLoginRefused(t *testing.T) {
	for principal, want := range map[string]string{"a//b@TEST": "cannot be a part", "rm/one": "could not be opened"} {
		if _, err := kdc.NewLogin(principal, "/nowhere", "/nowhere/krb5.conf"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", principal, err, want)
		}
	}
}
