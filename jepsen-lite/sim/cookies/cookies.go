// Package cookies judges the cookies of web logins behind Kerberos (S21). The secrets that sign them
// come from the keys of delegation tokens in the log. So every replica accepts the cookies of the key
// in force and of the key before it, whichever replica gave them, and none those of earlier keys.
package cookies

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/auth"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Cookies has a cookie of each of the last keys. The zero value is that of an empty log. The caller
// serializes calls of Follow and Differ.
type Cookies struct {
	keys []signer // in the order in which they came into force
	next int32    // the key that waits
}

// signer is a key and a cookie that it has signed, or "".
type signer struct {
	id     int32
	cookie string
}

// keep is how many keys are remembered: two whose cookies are valid, and those before them.
const keep = 6

// Follow takes events of the log.
func (c *Cookies) Follow(events []event.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case *event.MasterKeyCreated:
			if e.Which != yarn.KeyDelegation {
				continue
			}
			if c.next = e.ID; len(c.keys) == 0 { // the first key is in force at once
				c.activate()
			}
		case *event.KeyActivated:
			if e.Which == yarn.KeyDelegation {
				c.activate()
			}
		}
	}
}

func (c *Cookies) activate() {
	c.keys = append(c.keys, signer{id: c.next})
	c.keys = c.keys[max(0, len(c.keys)-keep):]
}

// Differ logs in at a replica that has a state, and shows it the cookies of all keys. It reports those
// that are accepted or refused wrongly.
func (c *Cookies) Differ(st *state.State, report func(text string)) {
	if len(c.keys) == 0 {
		return
	}
	g := guard(st)
	last := &c.keys[len(c.keys)-1]
	if last.cookie == "" {
		var err error
		if last.cookie, err = logIn(g); err != nil {
			report(err.Error())
			return
		}
	}
	for i, k := range c.keys {
		if k.cookie == "" { // nobody has logged in while it was in force
			continue
		}
		if got, want := accepted(g, k.cookie), i >= len(c.keys)-2; got != want {
			report(fmt.Sprintf("a cookie of key %d is accepted: %v, and key %d is in force", k.id, got, last.id))
		}
	}
}

// fork is a reader of one state.
type fork struct {
	view.Reader
	st *state.State
}

func (f fork) Fork() (*state.State, uint64) { return f.st, 0 }

// user logs in with ticket, which is Kerberos's own token without a body.
const (
	user   = "ann"
	ticket = "\x60\x0b\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"
)

// guard returns the guard of a replica that has a state. It takes every ticket for that of the user.
func guard(st *state.State) *auth.Guard {
	return auth.New(auth.DefaultConfig(), auth.Parts{Views: view.NewSource(fork{st: st}, time.Now), Now: time.Now,
		Kerberos: &auth.Kerberos{
			Accept:    func([]byte, netip.Addr) (string, []byte, error) { return user + "@TEST", nil, nil },
			ShortName: func(string) (string, error) { return user, nil },
			Admin:     func(string) bool { return false },
			Validity:  1000 * time.Hour,
		}})
}

// logIn shows a ticket, and returns the cookie that it is answered with.
func logIn(g *auth.Guard) (string, error) {
	h := http.Header{}
	if _, err := identify(g, h, "Authorization",
		"Negotiate "+base64.StdEncoding.EncodeToString([]byte(ticket))); err != nil {
		return "", fmt.Errorf("a ticket is refused: %w", err)
	}
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	if cookie == "" {
		return "", errors.New("a ticket is answered without a cookie")
	}
	return cookie, nil
}

func accepted(g *auth.Guard, cookie string) bool {
	p, err := identify(g, http.Header{}, "Cookie", cookie)
	return err == nil && p.Name == user && p.By == auth.ByKerberos
}

// identify asks a guard who a caller with one header is.
func identify(g *auth.Guard, answer http.Header, name, value string) (auth.Principal, error) {
	r, err := http.NewRequest(http.MethodGet, "http://rm/", nil)
	if err != nil {
		return auth.Principal{}, err
	}
	r.RemoteAddr = "192.0.2.1:1" // of another machine, whose programs must log in
	r.Header.Set(name, value)
	r, err = g.Identify(answer, r, false)
	return auth.Of(r), err
}
