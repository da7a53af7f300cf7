package kdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rmd/internal/gss"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"golang.org/x/sync/singleflight"
)

const (
	// ticketsMax limits the tickets that a Login keeps.
	ticketsMax = 4096
	// askAgain is the time after which a KDC that did not answer is asked again, while the old ticket
	// is valid.
	askAgain = 10 * time.Second
	// lastUse is how long before its end a ticket is no longer shown, because it must arrive in time.
	lastUse = 30 * time.Second
)

// Login gets tickets for services with the keytab of a principal. It gets a new ticket when 80 % of
// the life of the old one has passed, and reads the keytab and krb5.conf again for it. While the KDC
// does not answer, it gives the old ticket until its end. It is safe for concurrent use, and has no
// goroutine of its own.
type Login struct {
	principal    gss.Principal
	keytab, conf string
	flights      singleflight.Group

	mu      sync.Mutex
	granted pass // the ticket for getting tickets
	tickets map[string]pass
}

// pass is a ticket and the times that matter to its user.
type pass struct {
	ticket gss.Ticket
	fresh  time.Time // from then on a new one is wanted
	end    time.Time
}

// NewLogin returns the login of a principal, service/host@REALM or user@REALM. Without a realm, it
// has the default realm of krb5.conf, whose path is conf. NewLogin asks no KDC.
func NewLogin(principal, keytab, conf string) (*Login, error) {
	p, err := gss.ParsePrincipal(principal)
	if err != nil {
		return nil, fmt.Errorf("login as %q: %w", principal, err)
	}
	l := &Login{principal: p, keytab: keytab, conf: conf, tickets: make(map[string]pass)}
	if p.Realm != "" {
		return l, nil
	}
	c, err := l.load()
	if err == nil && c.LibDefaults.DefaultRealm == "" {
		err = errors.New("it has no realm, and " + conf + " has no default_realm")
	}
	if err != nil {
		return nil, fmt.Errorf("login as %q: %w", principal, err)
	}
	l.principal.Realm = c.LibDefaults.DefaultRealm
	return l, nil
}

// Principal returns the principal.
func (l *Login) Principal() string { return l.principal.String() }

// Realm returns the realm of the services of a host, by krb5.conf.
func (l *Login) Realm(host string) (realm string, err error) {
	conf, err := l.load()
	if err != nil {
		return "", err
	}
	if realm = conf.ResolveRealm(host); realm == "" {
		realm = conf.LibDefaults.DefaultRealm
	}
	return realm, nil
}

// Ticket returns a ticket for a service, name/host. It may ask the KDC, until ctx ends.
func (l *Login) Ticket(ctx context.Context, service string) (gss.Ticket, error) {
	have := l.ticket(service)
	if time.Now().Before(have.fresh) {
		return have.ticket, nil
	}
	var err error
	select {
	case r := <-l.flights.DoChan(service, func() (any, error) { return l.obtain(service) }):
		if r.Err == nil {
			return r.Val.(pass).ticket, nil
		}
		err = r.Err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if now := time.Now(); now.Before(have.end.Add(-lastUse)) {
		have.fresh = now.Add(askAgain)
		l.keep(service, have)
		return have.ticket, nil
	}
	return gss.Ticket{}, fmt.Errorf("ticket of %s for %s: %w", l.principal, service, err)
}

// Check logs in, and gets no ticket for a service.
func (l *Login) Check() (err error) {
	defer recovered(&err, "the KDC's answer cannot be decoded")
	cl, err := l.client()
	if err != nil {
		return err
	}
	defer cl.Destroy()
	_, err = l.logIn(cl)
	return err
}

// Forget makes the next Ticket ask for a new one, because the service may have refused the old one,
// for instance if its key has changed. While the KDC does not answer, the old one is given again.
func (l *Login) Forget(service string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.tickets[service]; ok {
		p.fresh = time.Time{}
		l.tickets[service] = p
	}
}

func (l *Login) ticket(service string) pass {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tickets[service]
}

func (l *Login) keep(service string, p pass) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tickets) >= ticketsMax {
		clear(l.tickets)
	}
	l.tickets[service] = p
}

// obtain gets a ticket from the KDC. The library panics on some bad answers.
func (l *Login) obtain(service string) (p pass, err error) {
	defer recovered(&err, "the KDC's answer cannot be decoded")
	cl, err := l.client()
	if err != nil {
		return pass{}, err
	}
	defer cl.Destroy() // ends the goroutine that the library starts for a ticket of another realm
	tgt, err := l.logIn(cl)
	if err != nil {
		return pass{}, err
	}
	name := types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, service)
	from := l.principal.Realm
	if realm := cl.Config.ResolveRealm(name.NameString[len(name.NameString)-1]); realm != "" && realm != from {
		foreign := types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
		if tgt, err = l.ask(cl, foreign, from, tgt); err != nil {
			return pass{}, err
		}
		from = realm
	}
	if p, err = l.ask(cl, name, from, tgt); err == nil {
		l.keep(service, p)
	}
	return p, err
}

// ask exchanges the ticket of a realm for one of a service.
func (l *Login) ask(cl *client.Client, name types.PrincipalName, realm string, tgt pass) (pass, error) {
	_, rep, err := cl.TGSREQGenerateAndExchange(name, realm, tgt.ticket.Ticket, tgt.ticket.Key, false)
	return l.pass(rep.Ticket, rep.DecryptedEncPart), err
}

// logIn returns the ticket for getting tickets.
func (l *Login) logIn(cl *client.Client) (pass, error) {
	l.mu.Lock()
	have := l.granted
	l.mu.Unlock()
	now := time.Now()
	if now.Before(have.fresh) {
		return have, nil
	}
	req, err := messages.NewASReqForTGT(l.principal.Realm, cl.Config, cl.Credentials.CName())
	if err != nil {
		return pass{}, err
	}
	rep, err := cl.ASExchange(l.principal.Realm, req, 0)
	if err != nil {
		if now.Before(have.end.Add(-lastUse)) {
			return have, nil
		}
		return pass{}, err
	}
	p := l.pass(rep.Ticket, rep.DecryptedEncPart)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.granted = p
	return p, nil
}

func (l *Login) pass(t messages.Ticket, part messages.EncKDCRepPart) pass {
	now := time.Now()
	return pass{
		ticket: gss.Ticket{Client: l.principal, Ticket: t, Key: part.Key},
		fresh:  now.Add(part.EndTime.Sub(now) * 8 / 10),
		end:    part.EndTime,
	}
}

func (l *Login) client() (*client.Client, error) {
	conf, err := l.load()
	if err != nil {
		return nil, err
	}
	keys, err := Keytab(l.keytab)
	if err != nil {
		return nil, fmt.Errorf("keytab %s: %w", l.keytab, err)
	}
	return client.NewWithKeytab(strings.Join(l.principal.Components, "/"), l.principal.Realm, keys, conf,
		client.DisablePAFXFAST(true)), nil
}

func (l *Login) load() (*config.Config, error) {
	conf, err := config.Load(l.conf)
	var unsupported config.UnsupportedDirective
	if err != nil && !errors.As(err, &unsupported) {
		return nil, fmt.Errorf("%s: %w", l.conf, err)
	}
	d := &conf.LibDefaults
	for _, list := range []*[]int32{&d.DefaultTktEnctypeIDs, &d.DefaultTGSEnctypeIDs, &d.PermittedEnctypeIDs} {
		*list = withAES(*list)
	}
	return conf, nil
}

// withAES adds the encryption types of AES with SHA-2, which the library does not ask for by default.
// A KDC may have no others.
func withAES(etypes []int32) []int32 {
	for _, e := range []int32{20, 19} {
		if !slices.Contains(etypes, e) {
			etypes = append(etypes, e)
		}
	}
	return etypes
}
