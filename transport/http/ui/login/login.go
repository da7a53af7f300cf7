// Package login serves the pages on which a browser logs in and out.
package login

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
)

// Addresses of login and logout.
const (
	Path    = "/ui/login"
	OutPath = "/ui/logout"
)

//go:embed login.html
var form string

const maxForm = 16 << 10 // bytes of the form

// Handler serves login and logout. Everybody may use it.
type Handler struct {
	guard    *auth.Guard
	problems *problem.Translator
	log      hclog.Logger
	page     *template.Template
}

// New returns a Handler. It fails if its template cannot be parsed.
func New(guard *auth.Guard, problems *problem.Translator, log hclog.Logger) (*Handler, error) {
	page, err := template.New("login").Parse(form)
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	return &Handler{guard: guard, problems: problems, log: log, page: page}, nil
}

// ServeHTTP answers both addresses.
func (l *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == OutPath {
		l.serveOut(w, r)
		return
	}
	l.serveIn(w, r)
}

// data is the data of the page.
type data struct {
	Who, Role, Next, Problem string
	NoTicket                 bool // the page answers a browser that has shown no ticket of Kerberos
}

// serveIn shows the form, or logs the browser in with the token in the form.
func (l *Handler) serveIn(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		p := auth.Of(r)
		d := data{Next: localPage(next(r))}
		if p.Known() {
			d.Who, d.Role = p.Name, p.Role.String()
		}
		l.show(w, http.StatusOK, d)
	case http.MethodPost:
		if err := l.logIn(w, r); err != nil {
			e := l.problems.Of(err, true)
			l.show(w, e.Status, data{Next: localPage(r.PostFormValue("next")), Problem: e.Message + ". " + e.Remedy})
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "use GET or POST", http.StatusMethodNotAllowed)
	}
}

// Ask shows the form to a browser that has no ticket for this site. One that has it answers with the
// ticket.
func (l *Handler) Ask(w http.ResponseWriter, r *http.Request) {
	l.show(w, http.StatusUnauthorized, data{Next: localPage(r.URL.RequestURI()), NoTicket: true})
}

// logIn starts a session for the browser if the token is valid.
func (l *Handler) logIn(w http.ResponseWriter, r *http.Request) error {
	if r.TLS == nil && !auth.Loopback(auth.LocalAddress(r)) {
		return problem.New(api.CodeNotAllowed, "a token must not cross the network in the open", "use HTTPS (port 8090)")
	}
	if l.guard.Mode() == auth.Off {
		return problem.New(api.CodeNotAvailable, "http.auth is off on this replica", "there is nothing to log in for")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return problem.Invalid("the form could not be read", "send it as the page has it")
	}
	if !ownForm(r) {
		return auth.OtherSite()
	}
	secret := strings.TrimSpace(r.PostForm.Get("token"))
	if secret == "" {
		return auth.Unauthenticated("no token was given")
	}
	p, err := l.guard.LogIn(w, r, secret)
	if err != nil {
		var e *api.Error
		if errors.As(err, &e) {
			e.Remedy = "\"rmd access token create\" makes one"
		}
		return err
	}
	l.log.Info("logged in to the pages", "who", p.String(), "role", p.Role.String(), "from", r.RemoteAddr)
	http.Redirect(w, r, localPage(r.PostForm.Get("next")), http.StatusSeeOther)
	return nil
}

// ownForm reports whether a form may come from our page. Unlike auth.FromOwnPage, it accepts
// browsers that do not say where a form comes from. Forms of other sites must be refused, because
// logging somebody in as another user is an attack too.
func ownForm(r *http.Request) bool {
	return auth.FromOwnPage(r) || r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
}

// serveOut ends the session of the browser.
func (l *Handler) serveOut(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	if err := l.guard.LogOut(w, r); err != nil {
		e := l.problems.Of(err, true)
		http.Error(w, e.Error(), e.Status)
		return
	}
	http.Redirect(w, r, Path, http.StatusSeeOther)
}

// next returns the page to which the visitor wants to go after the login: the one in the address, or else
// the one whose link led here.
func next(r *http.Request) string {
	if q := r.URL.Query(); q.Has("next") {
		return q.Get("next")
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		return from.RequestURI()
	}
	return ""
}

// localPage returns next if it is one of our pages, otherwise the first page.
func localPage(next string) string {
	path, _, _ := strings.Cut(next, "?")
	if !strings.HasPrefix(next, "/ui/") && !strings.HasPrefix(next, "/cluster") || strings.ContainsAny(next, "\\\r\n") ||
		strings.Contains(path, "//") || path == Path {
		return "/ui/"
	}
	return next
}

const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (l *Handler) show(w http.ResponseWriter, status int, d data) {
	var b bytes.Buffer
	if err := l.page.Execute(&b, d); err != nil {
		l.log.Error("login page not rendered", "error", err)
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, a form's Origin would be "null"
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}
