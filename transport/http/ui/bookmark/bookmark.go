// Package bookmark redirects the addresses of YARN's pages, which people have in bookmarks and scripts.
package bookmark

import (
	"net/http"
	"net/url"
	"strings"

	"rmd/yarn"
)

// Redirect redirects from an address of YARN's pages to the corresponding page of rmd.
func Redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, bookmarked(r.URL), http.StatusFound)
}

// yarnStates maps YARN's states to rmd's, where the names differ.
var yarnStates = map[string]string{"NEW": "SUBMITTED", "NEW_SAVING": "SUBMITTED", "FINISHING": "RUNNING"}

func bookmarked(u *url.URL) string {
	head, rest, _ := strings.Cut(strings.Trim(strings.TrimPrefix(u.Path, "/cluster"), "/"), "/")
	switch head {
	case "apps":
		return withStates("/ui/apps", rest, yarnStates)
	case "app", "appattempt", "container":
		return ofApplication(rest)
	case "nodes":
		return withStates("/ui/nodes", rest, nil)
	case "node":
		return "/ui/nodes/" + url.PathEscape(rest)
	case "nodelabels":
		return "/ui/labels"
	case "scheduler":
		return ofScheduler(u)
	case "about":
		return "/ui/about"
	case "cluster":
		return "/ui/cluster"
	}
	return "/ui/"
}

func withStates(page, list string, names map[string]string) string {
	q := url.Values{}
	for _, s := range strings.Split(list, ",") {
		s = strings.ToUpper(strings.TrimSpace(s))
		if name, ok := names[s]; ok {
			s = name
		}
		if s != "" && s != "ALL" {
			q.Add("state", s)
		}
	}
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

// ofApplication returns the page of an application for its id, or for the id of its attempt or
// container.
func ofApplication(id string) string {
	if a, err := yarn.ParseApplicationID(id); err == nil {
		return "/ui/apps/" + a.String()
	}
	if a, err := yarn.ParseAttemptID(id); err == nil {
		return "/ui/apps/" + a.App.String() + "#attempts"
	}
	if c, err := yarn.ParseContainerID(id); err == nil {
		return "/ui/apps/" + c.App.String() + "#containers"
	}
	return "/ui/apps"
}

// ofScheduler returns the page of the queue in YARN's ?openQueues=Queue: root.a#Queue: root.b.
func ofScheduler(u *url.URL) string {
	open, _, _ := strings.Cut(u.Query().Get("openQueues"), "#")
	open = strings.TrimSpace(strings.TrimPrefix(open, "Queue:"))
	if strings.HasPrefix(open, "root") {
		return "/ui/queues/" + url.PathEscape(open)
	}
	return "/ui/queues"
}
