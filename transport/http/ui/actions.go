package ui

import (
	"errors"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/ui/formtoken"
)

// action answers a form, or returns the error to answer with.
type action func(w http.ResponseWriter, r *http.Request) error

// actions adds the handlers of all forms.
func (u *UI) actions() {
	for path, f := range map[string]action{ // the order does not matter: the mux sorts by pattern
		"/ui/apps/{id}/kill":           u.kill,
		"/ui/apps/{id}/move":           u.move,
		"/ui/apps/{id}/priority":       u.prioritize,
		"/ui/reservations/{id}/cancel": u.cancel,
		"/ui/nodes/{id}/drain":         u.drain,
		"/ui/nodes/{id}/undrain":       u.undrain,
		"/ui/nodes/{id}/resource":      u.resize,
		"/ui/labels/add":               u.addLabel,
		"/ui/labels/{name}/remove":     u.removeLabel,
		"/ui/labels/{name}/map":        u.mapLabel,
		"/ui/queues/{path}/stop":       u.queueState("stop"),
		"/ui/queues/{path}/start":      u.queueState("start"),
		"/ui/conf/stage":               u.stage,
		"/ui/conf/apply":               u.apply,
		"/ui/conf/rollback":            u.rollback,
		"/ui/cluster/transfer":         u.transfer,
		"/ui/cluster/snapshot":         u.snapshot,
		"/ui/replay/rerun":             u.runAgain,
	} {
		u.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			err := u.form(w, r)
			if err == nil {
				err = f(w, r)
			}
			if err != nil {
				u.fail(w, r, err)
			}
		})
	}
}

// form parses a form and checks that it was made by this server for this browser.
func (u *UI) form(w http.ResponseWriter, r *http.Request) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		t != "application/x-www-form-urlencoded" {
		return &api.Error{Code: api.CodeUnsupportedMedia, Message: "the pages take forms only",
			Remedy: "programs use the API under /v1", Status: http.StatusUnsupportedMediaType}
	}
	r.Body = http.MaxBytesReader(w, r.Body, u.cfg.MaxBodyBytes)
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		var busy *api.Error
		if errors.As(err, &large) || errors.As(err, &busy) {
			return err
		}
		return bad("the form could not be read", "open the page again")
	}
	return formtoken.Check(r)
}

// done redirects to the page that shows the effect of an action. what is the key of the note to
// show.
func done(w http.ResponseWriter, r *http.Request, page, what string) {
	at, fragment, _ := strings.Cut(page, "#")
	sep := "?"
	if strings.Contains(at, "?") {
		sep = "&"
	}
	at += sep + "done=" + what
	if fragment != "" {
		at += "#" + fragment
	}
	http.Redirect(w, r, at, http.StatusSeeOther)
}

// pathSegment escapes a value as one segment of an API path.
func pathSegment(s string) string { return url.PathEscape(s) }

// trusted marks output of our own templates as safe HTML.
func trusted(html []byte) template.HTML { return template.HTML(html) }

func (u *UI) post(r *http.Request, path string, body any) error {
	return u.cfg.Caller.Call(r, http.MethodPost, path, nil, body, nil)
}

// ofApp runs an action on the application in the address.
func (u *UI) ofApp(w http.ResponseWriter, r *http.Request, verb string, body any) error {
	id := r.PathValue("id")
	if err := u.post(r, "/v1/apps/"+pathSegment(id)+":"+verb, body); err != nil {
		return err
	}
	done(w, r, "/ui/apps/"+pathSegment(id), verb)
	return nil
}

func (u *UI) kill(w http.ResponseWriter, r *http.Request) error {
	return u.ofApp(w, r, "kill", api.Kill{Diagnostics: strings.TrimSpace(r.PostFormValue("reason"))})
}

func (u *UI) move(w http.ResponseWriter, r *http.Request) error {
	return u.ofApp(w, r, "move", api.Move{Queue: strings.TrimSpace(r.PostFormValue("queue"))})
}

func (u *UI) prioritize(w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.ParseInt(strings.TrimSpace(r.PostFormValue("priority")), 10, 32)
	if err != nil {
		return bad("the priority is not a whole number", "write for instance 3; larger is served first")
	}
	return u.ofApp(w, r, "priority", api.Priority{Priority: int32(n)})
}

func (u *UI) cancel(w http.ResponseWriter, r *http.Request) error {
	path := "/v1/reservations/" + pathSegment(r.PathValue("id"))
	if reason := strings.TrimSpace(r.PostFormValue("reason")); reason != "" {
		path += "?" + url.Values{"reason": {reason}}.Encode()
	}
	if err := u.cfg.Caller.Call(r, http.MethodDelete, path, nil, nil, nil); err != nil {
		return err
	}
	done(w, r, "/ui/reservations", "cancel")
	return nil
}

// ofNode runs an action on the node in the address.
func (u *UI) ofNode(w http.ResponseWriter, r *http.Request, verb string, body any) error {
	id := r.PathValue("id")
	if err := u.post(r, "/v1/nodes/"+pathSegment(id)+":"+verb, body); err != nil {
		return err
	}
	done(w, r, "/ui/nodes/"+pathSegment(id), verb)
	return nil
}

func (u *UI) drain(w http.ResponseWriter, r *http.Request) error {
	doc := map[string]string{}
	if text := strings.TrimSpace(r.PostFormValue("timeout")); text != "" {
		doc["timeout"] = text
	}
	return u.ofNode(w, r, "drain", doc)
}

func (u *UI) undrain(w http.ResponseWriter, r *http.Request) error {
	return u.ofNode(w, r, "undrain", nil)
}

// resize sets a node's total resource. The form has a field for each kind.
func (u *UI) resize(w http.ResponseWriter, r *http.Request) error {
	doc := api.NodeResource{Total: api.Resource{}}
	for name, values := range r.PostForm { // the order does not matter: each name has its own place
		kind, ok := strings.CutPrefix(name, "total.")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(values[0]), 10, 64)
		if err != nil {
			return bad(format.KindName(kind)+" is not a whole number", "give memory in MiB and the others as counts")
		}
		doc.Total[kind] = n
	}
	return u.ofNode(w, r, "resource", doc)
}

func (u *UI) queueState(verb string) action {
	return func(w http.ResponseWriter, r *http.Request) error {
		path := pathSegment(r.PathValue("path"))
		if err := u.post(r, "/v1/queues/"+path+":"+verb, nil); err != nil {
			return err
		}
		done(w, r, "/ui/queues/"+path, verb)
		return nil
	}
}

func (u *UI) rollback(w http.ResponseWriter, r *http.Request) error {
	to, err := strconv.ParseUint(r.PostFormValue("to"), 10, 63)
	if err != nil {
		return bad("the form does not say which version to go back to", "choose one in the history of the configuration")
	}
	if err := u.post(r, "/v1/conf:rollback", api.Rollback{To: to, Comment: r.PostFormValue("comment")}); err != nil {
		return err
	}
	done(w, r, "/ui/conf", "rollback")
	return nil
}

func (u *UI) transfer(w http.ResponseWriter, r *http.Request) error {
	if err := u.post(r, "/v1/cluster:transfer", api.TransferRequest{ID: r.PostFormValue("id")}); err != nil {
		return err
	}
	done(w, r, "/ui/cluster", "transfer")
	return nil
}

// runAgain replays the recorded part of the log with and without reservations. The page shows the
// last result to all viewers.
func (u *UI) runAgain(w http.ResponseWriter, r *http.Request) error {
	d := &api.Rerun{}
	if err := u.cfg.Caller.Call(r, http.MethodPost, "/v1/replay:rerun", nil, nil, d); err != nil {
		return err
	}
	u.rerun.Store(d)
	at, err := strconv.ParseUint(r.PostFormValue("at"), 10, 63)
	if err != nil {
		return bad("the form does not say where the replay stands", "open the page again")
	}
	done(w, r, pausedAt(at)+"#rerun", "rerun")
	return nil
}

func (u *UI) snapshot(w http.ResponseWriter, r *http.Request) error {
	if err := u.post(r, "/v1/snapshot:take", nil); err != nil {
		return err
	}
	done(w, r, "/ui/cluster", "snapshot")
	return nil
}
