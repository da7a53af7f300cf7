package yarnweb

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/transport/hadoop/token"
	"rmd/transport/http/auth"
	"rmd/transport/http/view"
)

// views gives the guard the state of a fixture.
type views struct {
	view.Reader
	h *fixture
}

func (v views) Fork() (*state.State, uint64) { return v.h.planner.State().Fork(), 1 }

// secure puts a guard with Kerberos before the service. A ticket is the name of its user.
func (h *fixture) secure() {
	k := &auth.Kerberos{Validity: time.Hour, Secret: []byte("secret"),
		Accept: func(mech []byte, _ netip.Addr) (string, []byte, error) {
			return string(mech[len(ticketHead):]) + "@TEST", nil, nil
		},
		ShortName: func(p string) (string, error) { return strings.TrimSuffix(p, "@TEST"), nil },
		MayImpersonate: func(real, user string, _ netip.Addr) error {
			if real == "oozie" {
				return nil
			}
			return errors.New("not allowed")
		},
		Token: func(_ context.Context, text string) (string, error) {
			p, err := token.FromURLString(text)
			if err != nil {
				return "", err
			}
			d, err := token.ParseDelegation(p.GetIdentifier())
			return d.Owner, err
		},
		Admin: func(string) bool { return false },
	}
	g := auth.New(auth.DefaultConfig(), auth.Parts{Views: view.NewSource(views{h: h}, time.Now), Kerberos: k,
		Now: func() time.Time {
			return time.UnixMilli(h.now)
		}})
	h.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "10.0.0.1:1" // another machine's programs must log in
		r, err := g.Identify(w.Header(), r, false)
		if err == nil {
			err = g.AdmitHadoop(r, 0)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		h.svc.ServeHTTP(w, r)
	})
}

// ticketHead begins Kerberos's own tokens.
const ticketHead = "\x60\x0d\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"

// ticket returns the header and its value for a user.
func ticket(user string) [2]string {
	b := []byte(ticketHead + user)
	b[1] = byte(len(b) - 2)
	return [2]string{"Authorization", "Negotiate " + base64.StdEncoding.EncodeToString(b)}
}

// TestDelegationTokens gets, renews and cancels a token over REST, with the refusals of YARN.
func TestDelegationTokens(t *testing.T) {
	h := newFixture(t)
	h.secure()
	const path, expiration = "/ws/v1/cluster/delegation-token", "/ws/v1/cluster/delegation-token/expiration"
	ask := func(method, path, body, user string, headers ...string) reply {
		t.Helper()
		headers = append(headers, "Content-Type", asJSON)
		if user != "" {
			a := ticket(user)
			headers = append(headers, a[0], a[1])
		}
		return h.do(method, path, body, headers...)
	}
	var doc struct {
		Token, Renewer, Owner, Kind string
		Expires                     int64 `json:"expiration-time"`
		Max                         int64 `json:"max-validity"`
	}
	r := ask(http.MethodPost, path, `{"renewer":"rick"}`, "ann").want(t, http.StatusOK)
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil || doc.Renewer != "rick" || doc.Owner != "ann" ||
		doc.Kind != token.KindDelegation || doc.Expires <= h.now || doc.Max <= doc.Expires {
		t.Fatalf("the answer is %s, %v", r.body, err)
	}
	h.do(http.MethodPost, path, "<delegation-token><renewer>rick</renewer></delegation-token>", "Content-Type", asXML,
		"Accept", asXML, ticket("ann")[0], ticket("ann")[1]).
		want(t, http.StatusOK, "<delegation-token><token>",
			"</token><renewer>rick</renewer><owner>ann</owner><kind>RM_DELEGATION_TOKEN</kind><expiration-time>")
	as := ask(http.MethodPost, path+"?doAs=bob", `{"renewer":"rick"}`, "oozie").want(t, http.StatusOK, `"owner":"bob"`)
	var proxied struct{ Token string }
	_ = json.Unmarshal([]byte(as.body), &proxied)
	if p, err := token.FromURLString(proxied.Token); err != nil {
		t.Error(err)
	} else if d, err := token.ParseDelegation(p.GetIdentifier()); err != nil || d.RealUser != "oozie" {
		t.Errorf("the token of a proxy user is %+v, %v", d, err)
	}

	held := []string{auth.TokenHeader, doc.Token}
	h.now += 60_000
	r = ask(http.MethodPost, expiration, "", "rick", held...).want(t, http.StatusOK)
	var renewed map[string]int64
	if err := json.Unmarshal([]byte(r.body), &renewed); err != nil || len(renewed) != 1 ||
		renewed["expiration-time"] <= doc.Expires {
		t.Errorf("renewed: %s, %v", r.body, err)
	}
	ask(http.MethodPost, expiration, "", "ann", held...).want(t, http.StatusForbidden,
		"ann tries to renew a token (RM_DELEGATION_TOKEN owner=ann", "with non-matching renewer rick")
	ask(http.MethodDelete, path, "", "eve", held...).want(t, http.StatusForbidden,
		"eve is not authorized to cancel the token")
	for _, c := range []struct {
		method, path string
	}{{http.MethodPost, expiration}, {http.MethodDelete, path}} {
		ask(c.method, c.path, "", "ann").want(t, http.StatusBadRequest,
			"Header 'Hadoop-YARN-RM-Delegation-Token' containing encoded token not found", "BadRequestException")
		ask(c.method, c.path, "", "ann", auth.TokenHeader, "%").want(t, http.StatusBadRequest,
			"Could not decode encoded token")
		// A client that sends its ticket only when it is asked must be asked.
		ask(c.method, c.path, "", "", held...).want(t, http.StatusUnauthorized)
		ask(c.method, c.path, "", "").want(t, http.StatusUnauthorized)
	}
	for _, name := range auth.ProofHeaders {
		proof := []string{name, doc.Token}
		for _, c := range []struct {
			method, path, body string
		}{{http.MethodPost, path, `{"renewer":"rick"}`}, {http.MethodPost, expiration, ""}, {http.MethodDelete, path, ""}} {
			ask(c.method, c.path, c.body, "", append(proof, held...)...).want(t, http.StatusForbidden,
				"Delegation token operations cannot be carried out using delegation token authentication.")
		}
	}
	ask(http.MethodPost, path, `{"renewer":"rick"}`, "", held...).want(t, http.StatusForbidden,
		"cannot be carried out using delegation token authentication")
	ask(http.MethodPost, path, `{"renewer":"rick"}`, "ann", held...).want(t, http.StatusForbidden,
		"cannot be carried out using delegation token authentication")
	ask(http.MethodPut, path, "", "ann").want(t, http.StatusNotFound)

	if r := ask(http.MethodDelete, path, "", "ann", held...).want(t, http.StatusOK); r.body != "" {
		t.Errorf("cancelled: %s", r.body)
	}
	ask(http.MethodDelete, path, "", "ann", held...).want(t, http.StatusBadRequest, "BadRequestException")
	ask(http.MethodPost, expiration, "", "rick", held...).want(t, http.StatusBadRequest, "BadRequestException")
}

// TestDelegationTokensWithoutKerberos refuses callers that only say who they are.
func TestDelegationTokensWithoutKerberos(t *testing.T) {
	h := newFixture(t)
	for _, c := range []struct{ method, path string }{
		{http.MethodPost, "/ws/v1/cluster/delegation-token"}, {http.MethodPost, "/ws/v1/cluster/delegation-token/expiration"},
		{http.MethodDelete, "/ws/v1/cluster/delegation-token"},
	} {
		r := h.do(c.method, c.path+"?user.name=ann", `{"renewer":"rick"}`, "Content-Type", asJSON).want(t,
			http.StatusForbidden)
		if want := "Delegation token operations can only be carried out on a Kerberos authenticated channel. Expected auth type is kerberos, got type simple"; r.body != want {
			t.Errorf("%s %s: %s, want %s", c.method, c.path, r.body, want)
		}
		h.do(c.method, c.path, "").want(t, http.StatusForbidden, "The default static user cannot carry out this operation.")
	}
}
