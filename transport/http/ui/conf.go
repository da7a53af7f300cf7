package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/clip"
	"rmd/scheduler/capacity"
	"rmd/transport/http/ui/siblings"
	"rmd/transport/http/view"
)

// setting is a key of a queue that the queue's page can edit. All other keys can be edited in the
// text of the whole configuration.
type setting struct{ Key, Name, Value, Now, Help string }

// queueKey returns the full name of a queue's key.
func queueKey(path, key string) string { return capacity.Prefix + path + "." + key }

// settings returns the keys in the form of a queue, with the configured values and those in force.
func (q *query) settings(k *api.Queue) []setting {
	written := map[string]string{}
	if ver := q.v.State.Versions.Current(); ver != nil {
		for _, p := range ver.Properties {
			written[p.Name] = p.Value
		}
	}
	now := map[string]string{"capacity": k.Configured, "maximum-capacity": k.ConfiguredMax,
		"user-limit-factor":          k.UserLimitFactor,
		"minimum-user-limit-percent": k.UserLimit, "ordering-policy": k.Order, "node-order": k.NodeOrder}
	if k.MaxApps > 0 {
		now["maximum-applications"] = strconv.FormatInt(k.MaxApps, 10)
	}
	var out []setting
	for _, row := range capacity.FormKeys(k.Leaf) {
		name := queueKey(k.Path, row.Name)
		out = append(out, setting{row.Name, name, written[name], now[row.Name], row.Hint})
	}
	return out
}

type confData struct {
	Index      uint64
	Ready      bool
	Version    uint64
	AtMillis   int64
	Author     string
	Comment    string
	Versions   []api.ConfVersion
	Diff       *api.ConfDiff
	From, To   uint64
	Properties []state.Property
	Find       string
	All        int
}

// shownVersions is the number of versions that the page lists.
const shownVersions = 50

func configuration(q *query) (any, error) {
	d := confData{Index: q.v.Index, Find: strings.TrimSpace(q.q.Get("find"))}
	ver := q.v.State.Versions.Current()
	if ver == nil {
		return d, nil
	}
	now := view.ConfDoc(ver)
	d.Ready, d.Version, d.AtMillis, d.Author, d.Comment = true, now.Version, now.AtMillis, now.Author, now.Comment
	var err error
	if d.Versions, err = q.v.ConfVersions(shownVersions); err != nil {
		return nil, err
	}
	from, to := q.q.Get("from"), q.q.Get("to")
	if from != "" && to != "" {
		diff, err := q.v.ConfDiff(from, to)
		if err != nil {
			return nil, err
		}
		d.Diff, d.From, d.To = &diff, diff.From, diff.To
	} else if len(d.Versions) > 1 {
		d.From, d.To = d.Versions[1].Version, d.Versions[0].Version
	}
	d.All = len(now.Properties)
	for _, p := range sorted(now.Properties) {
		if d.Find == "" || strings.Contains(strings.ToLower(p.Name+" "+p.Value), strings.ToLower(d.Find)) {
			d.Properties = append(d.Properties, p)
		}
	}
	return d, nil
}

func sorted(props map[string]string) []state.Property {
	out := make([]state.Property, 0, len(props))
	for name, value := range props { // sorted below
		out = append(out, state.Property{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b state.Property) int { return strings.Compare(a.Name, b.Name) })
	return out
}

type editData struct {
	Version uint64
	Text    string
	Comment string
}

// editConfiguration shows the whole configuration as text.
func editConfiguration(q *query) (any, error) {
	ver, err := q.v.FindVersion("current")
	if err != nil {
		return nil, err
	}
	now := view.ConfDoc(ver)
	return editData{Version: now.Version, Text: confText(now.Properties)}, nil
}

// confText writes one property per line.
func confText(props map[string]string) string {
	var b strings.Builder
	for _, p := range sorted(props) {
		b.WriteString(p.Name + " = " + p.Value + "\n")
	}
	return b.String()
}

// confProperties parses the text of confText. It skips empty lines and comments, which begin with
// #.
func confProperties(text string) (map[string]string, error) {
	out := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, bad(fmt.Sprintf("line %d is not NAME = VALUE: %q", i+1, clip.Text(line)),
				"write one key on each line, or # before a remark")
		}
		if _, twice := out[name]; twice {
			return nil, bad(fmt.Sprintf("line %d gives %s a second value", i+1, name), "keep one of the two lines")
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, nil
}

// unmask replaces masked values by the real ones, which the browser does not know.
func unmask(st *state.State, props map[string]string) {
	ver := st.Versions.Current()
	if ver == nil {
		return
	}
	for _, p := range ver.Properties {
		if props[p.Name] == view.Masked {
			props[p.Name] = p.Value
		}
	}
}

type stageData struct {
	Base       uint64
	Text       string
	Comment    string
	Validation api.Validation
	Siblings   *siblings.Form // the form of sibling capacities; nil if the change comes from elsewhere
	WhatIf     *api.WhatIf    // nil if nothing changes, or on an error
	NoWhatIf   *api.Error     // why there is no what-if
	Queue      string         // the queue whose form the change comes from; empty for the text
}

// stage checks an edited configuration and shows its changes and faults. It writes nothing.
func (u *UI) stage(w http.ResponseWriter, r *http.Request) error {
	v, err := u.view(r)
	if err != nil {
		return err
	}
	d := stageData{Queue: r.PostFormValue("queue"), Comment: r.PostFormValue("comment")}
	if d.Base, err = strconv.ParseUint(r.PostFormValue("base"), 10, 63); err != nil {
		return bad("the form does not name the version that it changes", "open the page again")
	}
	var props map[string]string
	switch parent := r.PostFormValue("siblings"); {
	case parent != "":
		props, d.Siblings, err = siblings.Properties(v, r.PostForm, parent)
	case d.Queue != "":
		props, err = queueProperties(v, r, d.Queue)
	default:
		props, err = confProperties(r.PostFormValue("text"))
	}
	if err != nil {
		return err
	}
	d.Text = confText(props)
	unmask(v.State, props)
	if err := u.cfg.Caller.Call(r, http.MethodPost, "/v1/conf:validate", nil, api.PutConf{Properties: props},
		&d.Validation); err != nil {
		return err
	}
	if d.Validation.Valid && len(d.Validation.Changes) > 0 {
		d.WhatIf, d.NoWhatIf = u.whatIf(r, props)
	}
	html, err := u.render("stage", d)
	if err != nil {
		return err
	}
	u.shell(w, r, http.StatusOK, shellData{Title: "Staged change", Nav: "conf", Main: trusted(html), Still: true})
	return nil
}

// whatIf lets the planner try a configuration on a copy of the state. An error is only shown,
// because a change can be applied without a what-if.
func (u *UI) whatIf(r *http.Request, props map[string]string) (*api.WhatIf, *api.Error) {
	d := &api.WhatIf{}
	if err := u.cfg.Caller.Call(r, http.MethodPost, "/v1/whatif", nil, api.PutConf{Properties: props}, d); err != nil {
		return nil, u.cfg.Problems.Of(err, false)
	}
	return d, nil
}

// queueProperties returns the configuration in force, changed by the form of one queue. An empty
// field removes the key.
func queueProperties(v *view.View, r *http.Request, queue string) (map[string]string, error) {
	ver, err := v.FindVersion("current")
	if err != nil {
		return nil, err
	}
	now := view.ConfDoc(ver)
	for _, k := range capacity.Keys(capacity.OfQueue) {
		if values, given := r.PostForm["set."+k.Name]; given && k.Hint != "" {
			setProperty(now.Properties, queueKey(queue, k.Name), strings.TrimSpace(values[0]))
		}
	}
	return now.Properties, nil
}

// setProperty sets a key, or deletes it if the value is empty.
func setProperty(props map[string]string, name, value string) {
	if value == "" {
		delete(props, name)
	} else {
		props[name] = value
	}
}

// apply applies a staged configuration if the version on which it is based is still the newest.
func (u *UI) apply(w http.ResponseWriter, r *http.Request) error {
	v, err := u.view(r)
	if err != nil {
		return err
	}
	props, err := confProperties(r.PostFormValue("text"))
	if err != nil {
		return err
	}
	unmask(v.State, props)
	header := map[string]string{"If-Match": `"` + r.PostFormValue("base") + `"`}
	var out api.ConfApplied
	if err := u.cfg.Caller.Call(r, http.MethodPut, "/v1/conf", header,
		api.PutConf{Properties: props, Comment: r.PostFormValue("comment")}, &out); err != nil {
		return err
	}
	done(w, r, "/ui/conf", "apply")
	return nil
}

type rollbackData struct {
	To, Now  uint64
	AtMillis int64
	Author   string
	Comment  string
	Changes  []api.Change
}

// confirmRollback shows the changes of a rollback to an earlier version.
func confirmRollback(q *query) (any, error) {
	to := q.q.Get("to")
	if to == "" {
		return nil, bad("the address does not say which version to go back to",
			"choose one in the history of the configuration")
	}
	ver, err := q.v.FindVersion(to)
	if err != nil {
		return nil, err
	}
	diff, err := q.v.ConfDiff("current", to)
	if err != nil {
		return nil, err
	}
	q.title = fmt.Sprintf("Roll back to version %d", ver.Version)
	return rollbackData{To: ver.Version, Now: diff.From, AtMillis: ver.AtMillis, Author: ver.Author, Comment: ver.Comment,
		Changes: diff.Changes}, nil
}
