// Package kdc gets tickets from a KDC with the keys of a keytab.
package kdc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"rmd/internal/gss"
)

// Keytab reads a keytab.
func Keytab(file string) (kt *keytab.Keytab, err error) {
	defer recovered(&err, "it is not a keytab")
	return keytab.Load(file)
}

// Login is a principal's session with the KDC.
type Login struct {
	client *client.Client
	who    gss.Principal
}

// LogIn gets the first ticket of a principal. conf is the path of krb5.conf. The caller must call
// Close.
func LogIn(conf string, p gss.Principal, file string) (l *Login, err error) {
	defer recovered(&err, "the KDC's answer cannot be decoded")
	cfg, err := config.Load(conf)
	var unsupported config.UnsupportedDirective
	if err != nil && !errors.As(err, &unsupported) {
		return nil, err
	}
	d := &cfg.LibDefaults
	for _, list := range []*[]int32{&d.DefaultTktEnctypeIDs, &d.DefaultTGSEnctypeIDs, &d.PermittedEnctypeIDs} {
		*list = withAES(*list)
	}
	kt, err := Keytab(file)
	if err != nil {
		return nil, err
	}
	if p.Realm == "" {
		p.Realm = cfg.LibDefaults.DefaultRealm
	}
	c := client.NewWithKeytab(strings.Join(p.Components, "/"), p.Realm, kt, cfg, client.DisablePAFXFAST(true))
	if err := c.Login(); err != nil {
		c.Destroy()
		return nil, err
	}
	return &Login{c, p}, nil
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

// Close forgets the session's keys.
func (l *Login) Close() { l.client.Destroy() }

// Ticket gets a ticket for a service, name/host.
func (l *Login) Ticket(service string) (t gss.Ticket, err error) {
	defer recovered(&err, "the KDC's answer cannot be decoded")
	t.Client = l.who
	t.Ticket, t.Key, err = l.client.GetServiceTicket(service)
	return t, err
}

// recovered turns a panic of the library, which some bad input causes, into an error.
func recovered(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: %v", what, p)
	}
}
