package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// A browser is logged in by a session: a random id in a cookie, of which this
// replica keeps the hash, bound to the hash of the access token that it was
// given. Each request looks that token up again, so that revoking it, or its end,
// ends the session at once. Sessions are this replica's alone and end with it;
// the API takes no cookie.
type sessions struct {
	mu   sync.Mutex
	byID map[[sha256.Size]byte]session
}

type session struct {
	token [sha256.Size]byte // of the access token
	ends  time.Time
}

const (
	sessionBytes = 32
	sessionsMax  = 1024
)

// sessionCookie is named after the replica: browsers tell hosts apart, not ports.
func (g *Guard) sessionCookie() string { return "rmd_session_" + g.parts.ID }

// open begins a session and returns its id. When there are too many, one goes of the token that has the
// most, the one that would end first: nobody logs others out.
func (l *sessions) open(token [sha256.Size]byte, now time.Time, life time.Duration) (string, error) {
	var raw [sessionBytes]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", err
	}
	id := base64.RawURLEncoding.EncodeToString(raw[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[[sha256.Size]byte]session{}
	}
	l.forget(now)
	if len(l.byID) >= sessionsMax {
		l.evict()
	}
	l.byID[sha256.Sum256([]byte(id))] = session{token: token, ends: now.Add(life)}
	return id, nil
}

// forget drops the sessions that have ended.
func (l *sessions) forget(now time.Time) {
	for hash, have := range l.byID { // each for itself: order is harmless
		if !have.ends.After(now) {
			delete(l.byID, hash)
		}
	}
}

// evict drops one session.
func (l *sessions) evict() {
	count := map[[sha256.Size]byte]int{}
	for _, have := range l.byID {
		count[have.token]++
	}
	var worst [sha256.Size]byte
	most, ends := 0, time.Time{}
	for hash, have := range l.byID { // among equals any will do
		if n := count[have.token]; n > most || n == most && have.ends.Before(ends) {
			worst, most, ends = hash, n, have.ends
		}
	}
	delete(l.byID, worst)
}

// find returns a session that has not ended. The id is looked up by its hash:
// how long that takes tells nothing about an id that is good.
func (l *sessions) find(id string, now time.Time) (session, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	have, ok := l.byID[sha256.Sum256([]byte(id))]
	return have, ok && have.ends.After(now)
}

func (l *sessions) close(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, sha256.Sum256([]byte(id)))
}

// principalOfSession is who is logged in; nobody when the session or its token
// is over.
func (g *Guard) principalOfSession(r *http.Request) (Principal, error) {
	cookie, err := r.Cookie(g.sessionCookie())
	if err != nil {
		return Principal{}, nil
	}
	have, ok := g.sessions.find(cookie.Value, g.parts.Now())
	if !ok {
		return Principal{}, nil
	}
	st, _ := g.parts.Views.Fork(r)
	t, ok := st.AccessTokenByHash(have.token[:])
	if !ok || t.Expired(g.Clock(st)) {
		g.sessions.close(cookie.Value)
		return Principal{}, nil
	}
	return Principal{Name: t.Name, By: BySession, Role: t.Role}, nil
}

// LogIn begins a session with an access token, in the name of which the browser that
// sent r calls from then on.
func (g *Guard) LogIn(w http.ResponseWriter, r *http.Request, secret string) (Principal, error) {
	p, err := g.principalOfToken(r, secret)
	if err != nil {
		return p, err
	}
	id, err := g.sessions.open(sha256.Sum256([]byte(secret)), g.parts.Now(), g.cfg.SessionLife)
	if err != nil {
		return p, err
	}
	g.setSession(w, id, int(g.cfg.SessionLife.Seconds()))
	return p, nil
}

// LogOut ends the browser's session. It refuses a request that no page of ours has sent.
func (g *Guard) LogOut(w http.ResponseWriter, r *http.Request) error {
	if cookie, err := r.Cookie(g.sessionCookie()); err == nil {
		if !FromOwnPage(r) {
			return OtherSite()
		}
		g.sessions.close(cookie.Value)
	}
	g.setSession(w, "", -1)
	return nil
}

func (g *Guard) setSession(w http.ResponseWriter, id string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: g.sessionCookie(), Value: id, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: true}) // over loopback browsers take it as well
}
