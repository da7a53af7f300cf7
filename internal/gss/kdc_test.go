package gss_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/internal/gss/kdc"
)

// kdcTicket gets a ticket for a service from a KDC, with a session key of one type.
func kdcTicket(t *testing.T, k *gsstest.KDC, user, file, service string, etype int32) gss.Ticket {
	t.Helper()
	cfg, err := config.Load(k.Config(etype))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keytab.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	cl := client.NewWithKeytab(user, "TEST", keys, cfg, client.DisablePAFXFAST(true))
	defer cl.Destroy()
	if err := cl.Login(); err != nil {
		t.Fatal(err)
	}
	ticket, key, err := cl.GetServiceTicket(service)
	if err != nil {
		t.Fatal(err)
	}
	return gss.Ticket{Client: gss.Principal{Components: []string{user}, Realm: "TEST"}, Ticket: ticket, Key: key}
}

// TestKDC accepts tickets of a real KDC of each encryption type, and of a key that changes.
func TestKDC(t *testing.T) {
	k := gsstest.StartKDC(t)
	user := k.Keytab("ann")
	for etype, name := range gsstest.TypeNames {
		service := fmt.Sprintf("rm/e%d", etype)
		file := k.Path(fmt.Sprintf("e%d.keytab", etype))
		k.Admin("addprinc -randkey -e "+name+":normal "+service, "ktadd -k "+file+" -norandkey "+service)
		now := time.Now()
		a, err := gss.OpenAcceptor(gss.Config{Principal: service + "@TEST", Keytab: file,
			Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		meet := func() error {
			ticket := kdcTicket(t, k, "ann", user, service, etype)
			if ticket.Key.KeyType != etype || ticket.Ticket.EncPart.EType != etype {
				t.Errorf("the KDC gives types %d and %d, not %d", ticket.Key.KeyType, ticket.Ticket.EncPart.EType, etype)
			}
			i, token, err := gss.Initiate(ticket, now)
			if err != nil {
				return err
			}
			server, reply, err := a.Accept(token, gss.Peer{})
			if err != nil {
				return err
			}
			c, err := i.Finish(reply)
			if err != nil {
				return err
			}
			if got, _, err := server.Unwrap(c.Wrap(nil, []byte("text"), true)); err != nil ||
				!bytes.Equal(got, []byte("text")) || server.Client != "ann@TEST" {
				return fmt.Errorf("%q of %s, %w", got, server.Client, err)
			}
			return nil
		}
		if err := meet(); err != nil {
			t.Errorf("type %d: %v", etype, err)
		}
		k.Admin("change_password -randkey -e " + name + ":normal " + service)
		if err := meet(); err == nil {
			t.Errorf("type %d: a ticket of the new key is accepted before the keytab has it", etype)
		}
		k.Admin("ktadd -k " + file + " -norandkey " + service)
		now = now.Add(2 * time.Second)
		if err := meet(); err != nil {
			t.Errorf("type %d, with the new key: %v", etype, err)
		}
	}
}

// TestSHA2KDC has a KDC that knows no SHA-1.
func TestSHA2KDC(t *testing.T) {
	k := gsstest.StartKDC(t, 20, 19)
	file := k.Keytab("rm/new")
	a, err := gss.OpenAcceptor(gss.Config{Principal: "rm/new@TEST", Keytab: file})
	if err != nil {
		t.Fatal(err)
	}
	l, err := kdc.NewLogin("ann", k.Keytab("ann"), k.Path("krb5.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	ticket, err := l.Ticket(t.Context(), "rm/new")
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := gss.Initiate(ticket, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if ctx, _, err := a.Accept(token, gss.Peer{}); err != nil || ctx.Client != "ann@TEST" ||
		ticket.Ticket.EncPart.EType < 19 {
		t.Errorf("%v, %v with type %d", ctx, err, ticket.Ticket.EncPart.EType)
	}
	if eve, err := kdc.NewLogin("eve", file, k.Path("krb5.conf")); err != nil || eve.Check() == nil {
		t.Error("a principal without a key logs in")
	}
}
