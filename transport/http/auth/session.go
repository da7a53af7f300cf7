package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// sessions has the sessions of browsers on this replica. A session is a random id in a cookie. The
// replica stores the hash of the id, and with it the hash of the access token that was used to log
// in. Each request looks the token up again, so a session ends at once when its token is revoked or
// expires. Other replicas do not know the session, and it ends with the process. The API accepts no
// cookies, except where a browser follows a link of a page to read it.
type sessions struct {
	mu   sync.Mutex
	byID map[[sha256.Size]byte]session
}

type session struct {
	token [sha256.Size]byte // hash of the access token
	ends  time.Time
}

const (
	sessionBytes = 32
	sessionsMax  = 1024
)

// sessionCookie returns the name of the cookie. It contains the replica's id, because browsers send
// cookies to all ports of a host.
func (g *Guard) sessionCookie() string { return "rmd_session_" + g.parts.ID }

// open starts a session and returns its id. If there are too many sessions, it drops one of the
// token that has the most, so that nobody can log others out.
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
	for hash, have := range l.byID { // the order does not matter
		if !have.ends.After(now) {
			delete(l.byID, hash)
		}
	}
}

// evict drops a session of the token with the most sessions, the one that would end first.
func (l *sessions) evict() {
	count := map[[sha256.Size]byte]int{}
	for _, have := range l.byID {
		count[have.token]++
	}
	var worst [sha256.Size]byte
	most, ends := 0, time.Time{}
	for hash, have := range l.byID { // among equal ones any will do
		if n := count[have.token]; n > most || n == most && have.ends.Before(ends) {
			worst, most, ends = hash, n, have.ends
		}
	}
	delete(l.byID, worst)
}

// find returns a session that has not ended. It looks the id up by its hash, so that the time it
// takes says nothing about valid ids.
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

// principalOfSession returns the principal of the browser's session. Without a valid session it
// returns one without a role.
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
	t, ok := st.Access.ByHash(have.token[:])
	if !ok || t.Expired(g.Clock(st)) {
		g.sessions.close(cookie.Value)
		return Principal{}, nil
	}
	return Principal{Name: t.Name, By: BySession, Role: t.Role}, nil
}

// LogIn starts a session for the browser that sent r. The session has the identity of the access
// token.
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

// LogOut ends the browser's session. It refuses requests that do not come from a page of this
// server.
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
	http.SetCookie(w, &http.Cookie{Name: g.sessionCookie(), Value: id, Path: "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
		Secure:   true}) // browsers also accept it over loopback
}
