package yarnweb

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/http/auth"
)

// delegationDoc is YARN's document of a delegation token.
type delegationDoc struct {
	XMLName xml.Name `json:"-" xml:"delegation-token"`
	Token   string   `json:"token,omitempty" xml:"token,omitempty"`
	Renewer string   `json:"renewer,omitempty" xml:"renewer,omitempty"`
	Owner   string   `json:"owner,omitempty" xml:"owner,omitempty"`
	Kind    string   `json:"kind,omitempty" xml:"kind,omitempty"`
	Expires uint64   `json:"expiration-time,omitempty" xml:"expiration-time,omitempty"` // Unix milliseconds
	Max     uint64   `json:"max-validity,omitempty" xml:"max-validity,omitempty"`       // Unix milliseconds
}

// delegationToken answers the calls that get, renew and cancel a delegation token. They are for
// callers with a ticket: a token must not make another token.
func (s *Service) delegationToken(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	c, err := caller(r)
	if err != nil {
		return err
	}
	if text := notByTicket(auth.Of(r)); text != "" {
		return plainRefusal(w, text)
	}
	c.Caller.RealUser = auth.Of(r).Real
	switch r.Method + " " + r.URL.Path {
	case http.MethodPost + " " + auth.TokenPath:
		err = s.getToken(ctx, c, w, r)
	case http.MethodPost + " " + auth.TokenPath + "/expiration":
		err = s.renewToken(ctx, c, w, r)
	case http.MethodDelete + " " + auth.TokenPath:
		err = s.cancelToken(ctx, c, w, r)
	default:
		return wsNotFound("there is nothing at " + r.Method + " " + r.URL.Path)
	}
	var e *ipc.Error
	if errors.As(err, &e) {
		if text, ok := strings.CutPrefix(e.Message, ipc.ClassAccessControl+": "); ok {
			return plainRefusal(w, text)
		}
		if text, ok := strings.CutPrefix(e.Message, ipc.ClassInvalidToken+": "); ok {
			return wsBad(text)
		}
	}
	return err
}

// notByTicket returns YARN's refusal of a caller that has no ticket, or "".
func notByTicket(p auth.Principal) string {
	switch {
	case p.By != auth.ByKerberos:
		by := p.By
		if by == "" {
			by = "simple"
		}
		return "Delegation token operations can only be carried out on a Kerberos authenticated channel. Expected auth type is kerberos, got type " + by
	case p.Delegated:
		return "Delegation token operations cannot be carried out using delegation token authentication."
	}
	return ""
}

// plainRefusal answers as YARN does: the text is no document.
func plainRefusal(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, text) // the client may be gone
	return nil
}

func (s *Service) getToken(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request) error {
	var doc delegationDoc
	if err := read(w, r, &doc); err != nil {
		return err
	}
	reply, err := s.cfg.Client.GetDelegationToken(ctx, c, &proto.GetDelegationTokenRequestProto{Renewer: &doc.Renewer})
	if err != nil {
		return err
	}
	p := reply.GetToken()
	d, err := token.ParseDelegation(p.GetIdentifier())
	if err != nil {
		return err
	}
	t, err := s.record(ctx, d.Sequence)
	if err != nil {
		return err
	}
	text := token.Token{Kind: p.GetKind(), Service: p.GetService(), Identifier: p.GetIdentifier(),
		Password: p.GetPassword()}.URLString()
	return answer(w, r, http.StatusOK, delegationDoc{Token: text, Renewer: doc.Renewer, Owner: d.Owner, Kind: p.GetKind(),
		Expires: uint64(t.ExpiresMillis), Max: uint64(d.MaxMillis)})
}

// record returns the record of a token that was just issued, which this replica may not have yet.
func (s *Service) record(ctx context.Context, sequence uint32) (*state.DelegationToken, error) {
	if t := s.cfg.Reader.Fork().Delegations.Find(sequence); t != nil {
		return t, nil
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, err
	}
	if t := s.cfg.Reader.Fork().Delegations.Find(sequence); t != nil {
		return t, nil
	}
	return nil, errors.New("the token was cancelled meanwhile")
}

func (s *Service) renewToken(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request) error {
	p, err := namedToken(r)
	if err != nil {
		return err
	}
	reply, err := s.cfg.Client.RenewDelegationToken(ctx, c, &proto.RenewDelegationTokenRequestProto{Token: p})
	if err != nil {
		return err
	}
	return answer(w, r, http.StatusOK, delegationDoc{Expires: reply.GetNewExpiryTime()})
}

func (s *Service) cancelToken(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request) error {
	p, err := namedToken(r)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Client.CancelDelegationToken(ctx, c,
		&proto.CancelDelegationTokenRequestProto{Token: p}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// namedToken returns the token in the header of a request.
func namedToken(r *http.Request) (*proto.TokenProto, error) {
	text := r.Header.Get(auth.TokenHeader)
	if text == "" {
		return nil, bad("Header '%s' containing encoded token not found", auth.TokenHeader)
	}
	p, err := token.FromURLString(text)
	if err != nil {
		return nil, bad("Could not decode encoded token")
	}
	return p, nil
}
