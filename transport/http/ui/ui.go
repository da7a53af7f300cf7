package ui

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/plot"
	"rmd/transport/http/auth"
	"rmd/transport/http/ui/bookmark"
	"rmd/transport/http/ui/clustercache"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/ui/formtoken"
	"rmd/transport/http/ui/pagecache"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// UI is the handler of the operator's pages. It is safe for concurrent use.
type UI struct {
	cfg      Config
	log      hclog.Logger
	mux      *http.ServeMux
	tmpl     map[string]*template.Template // by page
	assets   string                        // version of the static files
	mark     []byte                        // stands for the browser's token in shared pages
	shared   *pagecache.Cache
	streams  atomic.Int64
	replicas clustercache.Cache
	rerun    atomic.Pointer[api.Rerun] // the last rerun
}

// New returns the pages. It fails if a template cannot be parsed.
func New(cfg Config) (*UI, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	u := &UI{cfg: cfg, log: cfg.Logger, mux: http.NewServeMux()}
	u.shared = pagecache.New(cfg.SharedPages, cfg.RenderShare)
	// Nobody can guess the mark, so nothing that a page shows can contain it.
	u.mark = []byte(formtoken.Draw())
	var err error
	if u.tmpl, err = parse(string(u.mark)); err != nil {
		return nil, err
	}
	if u.assets, err = Version(); err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	u.routes()
	return u, nil
}

// policy lets a page load its own style, script and icon, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers requests under /ui and /cluster.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	// With no-referrer, a form's Origin would be "null", and the form would be refused.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	u.mux.ServeHTTP(w, r)
}

// routes adds all pages and actions to the mux.
func (u *UI) routes() {
	static := http.StripPrefix("/ui/static/", http.FileServerFS(Static()))
	u.mux.HandleFunc("GET /ui/static/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=86400")
		static.ServeHTTP(w, r)
	})
	u.mux.HandleFunc("GET /ui/static/plot.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=86400")
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, plot.FigureStyle) // the client may be gone
	})
	u.mux.HandleFunc("GET /ui/live", u.live)
	u.mux.HandleFunc("GET /cluster", bookmark.Redirect)
	u.mux.HandleFunc("GET /cluster/", bookmark.Redirect)
	u.mux.HandleFunc("GET /ui", func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/ui/", http.StatusMovedPermanently)
	})
	for _, p := range []page{
		{path: "/ui/{$}", name: "overview", title: "Overview", show: overview},
		{path: "/ui/apps", name: "apps", title: "Applications", file: true, show: applications},
		{path: "/ui/apps/{id}", name: "app", nav: "apps", title: "Application", show: application},
		{path: "/ui/queues", name: "queues", title: "Queues", file: true, show: queues},
		{path: "/ui/queues/{path}", name: "queue", nav: "queues", title: "Queue", show: queue},
		{path: "/ui/nodes", name: "nodes", title: "Nodes", file: true, show: nodes},
		{path: "/ui/nodes/{id}", name: "node", nav: "nodes", title: "Node", show: node},
		{path: "/ui/reservations", name: "reservations", title: "Reservations", show: reservations},
		{path: "/ui/reservations/{id}", name: "reservation", nav: "reservations", title: "Reservation", show: reservation},
		{path: "/ui/users", name: "users", title: "Users", show: users},
		{path: "/ui/users/{name}", name: "user", nav: "users", title: "User", show: user},
		{path: "/ui/preemption", name: "preemption", title: "Preemption", show: preemptionPage},
		{path: "/ui/cluster", name: "cluster", title: "Cluster", own: true, show: clusterPage},
		{path: "/ui/decisions", name: "decisions", title: "Decisions", file: true, show: decisions},
		{path: "/ui/conf", name: "conf", title: "Configuration", show: configuration},
		{path: "/ui/conf/edit", name: "edit", nav: "conf", title: "Edit the configuration", show: editConfiguration},
		{path: "/ui/conf/rollback", name: "rollback", nav: "conf", title: "Roll back", show: confirmRollback},
		{path: "/ui/forecasts", name: "forecasts", title: "Forecasts", show: forecastsPage},
		{path: "/ui/audit", name: "audit", title: "Audit", show: auditPage},
		{path: "/ui/labels", name: "labels", title: "Labels", show: labels},
		{path: "/ui/labels/{name}", name: "label", nav: "labels", title: "Label", show: label},
		{path: "/ui/about", name: "about", title: "About", own: true, show: about},
		{path: "/ui/search", name: "search", title: "Search", show: search},
		{path: "/ui/shadow", name: "shadow", title: "Shadow", show: shadowPage},
		{path: "/ui/replay", name: "replay", title: "Replay", show: replay},
	} {
		if p.nav == "" {
			p.nav = p.name
		}
		u.mux.HandleFunc("GET "+p.path, func(w http.ResponseWriter, r *http.Request) { u.page(w, r, p) })
		if p.file {
			u.mux.HandleFunc("GET "+p.path+".csv", func(w http.ResponseWriter, r *http.Request) { u.answerFile(w, r, p) })
		}
	}
	u.actions()
	u.mux.HandleFunc("/ui/", u.nowhere)
}

// nowhere answers if there is no page, or none for the method.
func (u *UI) nowhere(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := u.mux.Handler(other); pattern == "/ui/" || method == r.Method {
			continue
		}
		e := &api.Error{Code: api.CodeMethodNotAllowed, Message: r.URL.Path + " does not take " + r.Method,
			Remedy: "open it as a page", Status: http.StatusMethodNotAllowed}
		if method == http.MethodPost {
			e.Remedy = "use the button of the page that it belongs to"
		}
		w.Header().Set("Allow", method)
		u.fail(w, r, e)
		return
	}
	u.fail(w, r, &api.Error{Code: api.CodeNotFound, Message: "there is no page at " + r.URL.Path,
		Remedy: "choose one in the menu", Status: http.StatusNotFound})
}

// page is a kind of page. show makes its data from one view.
type page struct {
	path, name, nav, title string
	own                    bool // it is about the replicas, so it needs no state of the cluster
	file                   bool // its table can be had as a file
	show                   func(q *query) (any, error)
}

// query is a request for a page.
type query struct {
	u      *UI
	r      *http.Request
	v      *view.View
	q      url.Values
	title  string // set by pages with their own title
	behind bool   // no viewer waits for the page
	past   bool   // the view is of an earlier state
	file   *file  // to fill in instead of a page
	lacks  bool   // some data was not known in time: the page is incomplete
	waited time.Duration
	// refresh is the address to which a browser without JavaScript continues by itself.
	refresh string
}

// view returns a view of the state from which to answer, or an error if the caller's connection is
// not admitted.
func (u *UI) view(r *http.Request) (*view.View, error) {
	if err := u.cfg.Guard.AdmitConnection(r, auth.ClassRead); err != nil {
		return nil, err
	}
	return u.cfg.Views.Of(r), nil
}

// visitor describes the viewer of a page.
func (u *UI) visitor(r *http.Request, st *state.State) Visitor {
	who := auth.Of(r)
	d := Visitor{Guarded: u.cfg.Guard.Guarded(st) || !auth.OnThisMachine(r), ByLogin: who.By == auth.BySession}
	d.Guest = d.Guarded && who.Role < yarn.RoleSubmit
	if who.Known() {
		d.Name, d.Role = who.Name, who.Role.String()
	}
	return d
}

// page answers with a page, or only with its main part if the open page fetches itself again.
func (u *UI) page(w http.ResponseWriter, r *http.Request, p page) {
	m, err := u.main(r, p)
	if err != nil {
		u.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set(api.HeaderIndex, strconv.FormatUint(m.Index, 10))
	if IsLive(r) {
		h.Set("ETag", m.Tag)
		h.Set("Content-Type", "text/html; charset=utf-8")
		if r.Header.Get("If-None-Match") == m.Tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(bytes.ReplaceAll(m.HTML, u.mark, []byte(formtoken.Of(w, r)))) // the client may be gone
		return
	}
	if m.Refresh != "" {
		h.Set("Refresh", "2; url="+m.Refresh)
	}
	u.shell(w, r, http.StatusOK, shellData{Title: m.Title, Nav: p.nav, Main: template.HTML(m.HTML)})
}

// IsLive reports whether an open page makes the request to fetch itself again.
func IsLive(r *http.Request) bool { return r.Header.Get("X-Rmd-Live") != "" }

// main returns the main part of a page. It renders it, or takes the one that another viewer has
// just got.
func (u *UI) main(r *http.Request, p page) (*pagecache.Page, error) {
	v, err := u.view(r)
	if err == nil && v.State.Meta.ClusterID == "" && !p.own {
		err = u.memberWithoutState()
	}
	if err != nil {
		return nil, err
	}
	stand := u.stand(v)
	key := keyOf(r)
	live := IsLive(r)
	asked := r.URL.Query()
	// a replay that plays is always rendered again
	once := !live && (asked.Has("done") || asked.Has("verify")) || asked.Has("speed")
	return u.shared.Get(key, pagecache.Want{Now: u.cfg.Now, Live: live, Fresh: once, Standing: stand,
		Good: func(have *pagecache.Page) bool {
			return !have.Lacks && have.Serves(u.cfg.Now(), u.cfg.Tick, stand) && (have.Index >= v.Index || live)
		},
		Render: func(behind bool) (*pagecache.Page, error) {
			r := r
			if behind { // the viewer's request may have ended
				ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), renewTimeout)
				defer cancel()
				r = r.Clone(ctx)
			}
			return u.draw(&query{u: u, r: r, v: v, q: r.URL.Query(), title: p.title, behind: behind || live}, p, stand)
		}})
}

// stand returns what a page of a view must not show as it was before.
func (u *UI) stand(v *view.View) pagecache.Standing {
	s := u.cfg.Status()
	stand := pagecache.Standing{Role: s.Role, Leader: s.Leader, Term: s.Term, Rerun: u.rerun.Load()}
	if conf := v.State.Versions.Current(); conf != nil {
		stand.Version = conf.Version
	}
	return stand
}

// entries returns the reader of the log.
func (u *UI) entries() eventlog.Reader { return eventlog.Reader{Log: u.cfg.Log} }

// memberWithoutState returns why a member has no state of its cluster. For a replica that is not a
// member it returns nil: the pages then say how to create a cluster.
func (u *UI) memberWithoutState() error {
	if e := u.cfg.Problems.NoState(); e.Code != api.CodeNotInitialized {
		return e
	}
	return nil
}

// keyOf returns the key under which viewers share a page: its address without the note about an
// action. If an open page fetches itself again, the key also omits the one-time check of the
// digests.
func keyOf(r *http.Request) string {
	q := r.URL.Query()
	q.Del("done")
	if IsLive(r) {
		q.Del("verify")
	}
	return r.URL.EscapedPath() + "?" + q.Encode()
}

// renewTimeout is the most time for rendering a page for which no viewer waits.
const renewTimeout = 10 * time.Second

// draw renders the main part of a page.
func (u *UI) draw(q *query, p page, stand pagecache.Standing) (*pagecache.Page, error) {
	at := u.cfg.Now()
	data, err := p.show(q)
	if err != nil {
		return nil, err
	}
	html, err := u.render(p.name, data)
	if err != nil {
		return nil, err
	}
	return &pagecache.Page{Index: q.v.Index, Standing: stand, At: at, HTML: html, Title: q.title, Tag: pagecache.TagOf(html),
		Refresh: q.refresh, Lacks: q.lacks, Waited: q.waited}, nil
}

// render executes the main template of a page.
func (u *UI) render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := u.tmpl[name].ExecuteTemplate(&b, "main", data); err != nil {
		return nil, fmt.Errorf("render the page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// shellData is the data around the main part of a page.
type shellData struct {
	Title, Nav string
	Main       template.HTML
	Status     Status
	Visitor    Visitor
	Here       string // the page's own address, to which a login returns
	Token      string
	Assets     string
	Note       string
	NoLeader   template.HTML // empty if there is a leader
	Replay     bool          // there is a log to replay
	Still      bool          // the page does not renew itself
}

// shell answers with a whole page.
func (u *UI) shell(w http.ResponseWriter, r *http.Request, status int, d shellData) {
	d.Status, d.Token, d.Assets = u.cfg.Status(), formtoken.Of(w, r), u.assets
	d.NoLeader = u.noLeader(d.Status, awayOpened)
	st, _ := u.cfg.Views.Fork(r)
	d.Replay = u.cfg.Log != nil
	d.Visitor, d.Here = u.visitor(r, st), "/ui/"
	if r.Method == http.MethodGet {
		d.Here = r.URL.RequestURI()
	}
	if d.Note == "" {
		d.Note = notes[r.URL.Query().Get("done")]
	}
	var b bytes.Buffer
	if err := u.tmpl["error"].ExecuteTemplate(&b, "shell", d); err != nil {
		u.log.Error("shell of a page not rendered", "error", err)
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.ReplaceAll(b.Bytes(), u.mark, []byte(d.Token)))
}

// notes has the texts that a page shows after an action. The address has the key.
var notes = map[string]string{
	"kill":        "The application is being killed.",
	"move":        "The application was moved.",
	"priority":    "The priority was set.",
	"cancel":      "The reservation was cancelled. The same request cannot reserve this node again until its free resources change.",
	"drain":       "The node is being drained: it gets no new containers.",
	"undrain":     "The node takes containers again.",
	"resource":    "The node's total was set.",
	"label":       "The label was added. Now give it to nodes, and give queues a capacity of it.",
	"unlabel":     "The label was removed.",
	"map":         "The nodes’ labels were changed.",
	"stop":        "The queue is stopping: it rejects new applications; its running ones continue.",
	"start":       "The queue takes applications again.",
	"apply":       "The new configuration is in force on every replica.",
	"rollback":    "The earlier configuration is in force again, as a new version.",
	"transfer":    "Leadership was transferred.",
	"snapshot":    "A snapshot was taken on this replica.",
	"unchanged":   "Nothing was changed: the configuration is as it was.",
	"initialized": "The cluster is initialized.",
	"rerun":       "The recorded applications have been played with and without reservations.",
}

// failure is the data of the error page.
type failure struct {
	*api.Error
	Back  string
	Write bool
}

// fail answers with the error page, which says what went wrong and what to do.
func (u *UI) fail(w http.ResponseWriter, r *http.Request, err error) {
	write := r.Method != http.MethodGet && r.Method != http.MethodHead
	e := u.cfg.Problems.Of(err, write)
	status := e.Status
	if status < 400 {
		status = http.StatusInternalServerError
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	html, err := u.render("error", failure{Error: e, Back: localReferer(r), Write: write})
	if err != nil {
		u.log.Error("error page not rendered", "error", err)
		http.Error(w, e.Error(), status)
		return
	}
	if IsLive(r) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(html)
		return
	}
	u.shell(w, r, status, shellData{Title: "Not done", Main: template.HTML(html), Still: true})
}

// localReferer returns the page of ours that led here, or "".
func localReferer(r *http.Request) string {
	ref, err := url.Parse(r.Referer())
	if err != nil || ref.Host != r.Host || !strings.HasPrefix(ref.Path, "/ui/") {
		return ""
	}
	return ref.RequestURI()
}
