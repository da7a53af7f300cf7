package httpserver

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// A browser is logged in by a session: a random id in a cookie, of which this
// replica keeps the hash, bound to the hash of the access token that it was
// given. Each request looks that token up anew, so that revoking it, or its end,
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
	loginPath    = "/ui/login"
	logoutPath   = "/ui/logout"
	loginMax     = 16 << 10 // bytes of the form
)

// sessionCookie is named after the replica: browsers tell hosts apart, not ports.
func (s *Server) sessionCookie() string { return "rmd_session_" + s.cfg.ID }

// open begins a session and returns its id. When there are too many, the one
// that would end first goes.
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
	var first [sha256.Size]byte
	var ends time.Time
	for hash, have := range l.byID { // the earliest end: order is harmless
		switch {
		case !have.ends.After(now):
			delete(l.byID, hash)
		case ends.IsZero() || have.ends.Before(ends):
			first, ends = hash, have.ends
		}
	}
	if len(l.byID) >= sessionsMax {
		delete(l.byID, first)
	}
	l.byID[sha256.Sum256([]byte(id))] = session{token: token, ends: now.Add(life)}
	return id, nil
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
func (s *Server) principalOfSession(r *http.Request) (principal, error) {
	cookie, err := r.Cookie(s.sessionCookie())
	if err != nil {
		return principal{}, nil
	}
	have, ok := s.sessions.find(cookie.Value, s.cfg.Now())
	if !ok {
		return principal{}, nil
	}
	st, _ := s.forkOf(r)
	t, ok := st.AccessTokenByHash(have.token[:])
	if !ok || t.Expired(s.clock(st)) {
		s.sessions.close(cookie.Value)
		return principal{}, nil
	}
	return principal{name: t.Name, by: bySession, role: t.Role}, nil
}

// servePages answers for the pages: log in and out, else the pages themselves to
// whoever may read.
func (s *Server) servePages(w http.ResponseWriter, r *http.Request, identity error) {
	switch {
	case r.URL.Path == loginPath:
		s.serveLogin(w, r)
		return
	case r.URL.Path == logoutPath:
		s.serveLogout(w, r)
		return
	case strings.HasPrefix(r.URL.Path, "/ui/static/"):
		s.cfg.Web.ServeHTTP(w, r)
		return
	}
	page := &route{method: r.Method, class: ClassRead, least: yarn.RoleRead}
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	if identity == nil {
		identity = s.admit(r, page)
	}
	if p := principalOf(r); identity == nil && !read && p.by == bySession && !fromOwnPage(r) {
		identity = otherSite()
	}
	if identity == nil {
		s.cfg.Web.ServeHTTP(w, r)
		return
	}
	e := s.errorOf(identity, !read)
	if e.Code == api.CodeUnauthenticated && read && r.Header.Get("X-Rmd-Live") == "" && r.URL.Path != "/ui/live" {
		http.Redirect(w, r, loginPath+"?next="+template.URLQueryEscaper(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	http.Error(w, e.Error(), e.Status)
}

// login is the page to log in and out.
type login struct{ Who, Role, Next, Problem string }

// serveLogin shows the form, or takes the token that it sends.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		p := principalOf(r)
		d := login{Next: localPage(r.URL.Query().Get("next"))}
		if p.known() {
			d.Who, d.Role = p.name, p.role.String()
		}
		s.showLogin(w, http.StatusOK, d)
	case http.MethodPost:
		if err := s.logIn(w, r); err != nil {
			e := s.errorOf(err, true)
			s.showLogin(w, e.Status, login{Next: localPage(r.PostFormValue("next")), Problem: e.Message + ". " + e.Remedy})
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "use GET or POST", http.StatusMethodNotAllowed)
	}
}

// logIn gives the browser a session for a good token.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request) error {
	if r.TLS == nil && !loopback(localAddress(r)) {
		return problem(api.CodeNotAllowed, "a token must not cross the network in the open", "use HTTPS (port 8090)")
	}
	if s.cfg.Auth.Mode == AuthOff {
		return problem(api.CodeNotAvailable, "http.auth is off on this replica", "there is nothing to log in for")
	}
	r.Body = http.MaxBytesReader(w, r.Body, loginMax)
	if err := r.ParseForm(); err != nil {
		return invalid("the form could not be read", "send it as the page has it")
	}
	if !ownForm(r) {
		return otherSite()
	}
	secret := strings.TrimSpace(r.PostForm.Get("token"))
	if secret == "" {
		return unauthenticated("no token was given")
	}
	p, err := s.principalOfToken(r, secret)
	if err != nil {
		var e *api.Error
		if errors.As(err, &e) {
			e.Remedy = "\"rmd access token create\" makes one"
		}
		return err
	}
	id, err := s.sessions.open(sha256.Sum256([]byte(secret)), s.cfg.Now(), s.cfg.Auth.SessionLife)
	if err != nil {
		return err
	}
	s.log.Info("logged in to the pages", "who", p.String(), "role", p.role.String(), "from", r.RemoteAddr)
	s.setSession(w, id, int(s.cfg.Auth.SessionLife.Seconds()))
	http.Redirect(w, r, localPage(r.PostForm.Get("next")), http.StatusSeeOther)
	return nil
}

// ownForm says whether a form comes from our page as far as the browser tells:
// logging somebody in as another would be an attack too.
func ownForm(r *http.Request) bool {
	return fromOwnPage(r) || r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
}

func (s *Server) setSession(w http.ResponseWriter, id string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: s.sessionCookie(), Value: id, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: true}) // over loopback browsers take it as well
}

// serveLogout ends the session of the browser.
func (s *Server) serveLogout(w http.ResponseWriter, r *http.Request) {
	switch cookie, err := r.Cookie(s.sessionCookie()); {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	case err == nil && !fromOwnPage(r):
		e := otherSite().(*api.Error)
		http.Error(w, e.Error(), e.Status)
		return
	case err == nil:
		s.sessions.close(cookie.Value)
	}
	s.setSession(w, "", -1)
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}

// localPage keeps a page of ours to go to; anything else is the first one.
func localPage(next string) string {
	path, _, _ := strings.Cut(next, "?")
	if !strings.HasPrefix(next, "/ui/") && !strings.HasPrefix(next, "/cluster") || strings.ContainsAny(next, "\\\r\n") || strings.Contains(path, "//") || path == loginPath {
		return "/ui/"
	}
	return next
}

var loginPage = template.Must(template.New("login").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Log in · rmd</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/ui/static/rmd.css"><link rel="icon" href="/ui/static/icon.svg"></head>
<body class="alone"><main><h1>{{if .Who}}Logged in{{else}}Log in{{end}}</h1>
{{with .Problem}}<p class="problem" role="alert"><strong>Not done:</strong> {{.}}</p>{{end}}
{{if .Who}}<p>You are {{.Who}}, with the role {{.Role}}.</p>
<form method="post" action="/ui/logout"><p class="row"><button type="submit">Log out</button> <a class="button" href="{{.Next}}">Back to the pages</a></p></form>
{{else}}<form method="post" action="/ui/login"><input type="hidden" name="next" value="{{.Next}}">
<label>Access token <input type="password" name="token" autocomplete="current-password" required autofocus></label>
<p class="row"><button class="primary" type="submit">Log in</button> <a class="button" href="{{.Next}}">Back to the pages</a></p></form>
<p class="more">An administrator makes one: <code>rmd access token create --role operator --name you</code></p>{{end}}
</main></body></html>
`))

const loginPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (s *Server) showLogin(w http.ResponseWriter, status int, d login) {
	var b bytes.Buffer
	if err := loginPage.Execute(&b, d); err != nil {
		s.log.Error("login page not rendered", "error", err)
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", loginPolicy)
	h.Set("Referrer-Policy", "same-origin") // a form's Origin would be "null" under no-referrer
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that is gone is no error of ours
}
