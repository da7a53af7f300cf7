package v1

import (
	"net/http"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// apps serves applications and their attempts.
type apps struct {
	*shared
	reasons reasons
}

func (s *apps) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/apps", "state queue user type name tag limit after order",
			s.listApps).Doc("List applications, one page", nil, api.Apps{}),
		route.Post("/v1/apps", "dry_run explain",
			s.submitApp).Doc("Submit an application, or with dry_run predict the result", api.Submit{},
			route.Answers{http.StatusOK: api.Submitted{}, http.StatusCreated: api.Submitted{}}),
		route.Get("/v1/apps/{id}", "", ofApp(s.showApp)).Doc("Show an application", nil, api.App{}),
		route.Get("/v1/apps/{id}/explain", "", ofApp(s.explainApp)).Doc("Explain why an application waits", nil,
			api.Explanation{}),
		route.Get("/v1/apps/{id}/containers", "limit after",
			ofApp(appContainers)).Doc("List the live containers of an application, one page", nil, api.Containers{}),
		route.Get("/v1/apps/{id}/attempts", "", ofApp(appAttempts)).Doc("List the attempts of an application", nil,
			api.Attempts{}),
		route.Get("/v1/apps/{id}/asks", "", ofApp(appAsks)).Doc("List what an application asks for", nil, api.Asks{}),
		route.Post("/v1/apps/{id}:kill", "", s.killApp).Doc("Kill an application", api.Kill{}, api.Done{}),
		route.Post("/v1/apps/{id}:move", "", s.moveApp).Doc("Move an application to another leaf queue",
			api.Move{}, api.Done{}),
		route.Post("/v1/apps/{id}:gang", "", s.gangApp).Doc(
			"Declare the containers of an application that start together or not at all", api.Gang{}, api.Done{}),
		route.Post("/v1/apps/{id}:priority", "", s.prioritizeApp).Doc("Change the priority of an application", api.Priority{},
			api.Priority{}),
		route.Post("/v1/apps/{id}/attempt:register", "",
			s.registerAttempt).Doc("Register the ApplicationMaster of an attempt", api.Register{}, api.Registered{}),
		route.Post("/v1/apps/{id}/attempt:allocate", "",
			s.allocate).Doc("Send an ApplicationMaster's heartbeat with its asks and releases", api.Allocate{}, api.Allocated{}),
		route.Post("/v1/apps/{id}/attempt:finish", "", s.finishAttempt).Doc("Unregister the ApplicationMaster of an attempt",
			api.Finish{}, api.Done{}),
	}
}

func appFilter(c *route.Call, v *view.View) (view.AppFilter, error) {
	f := view.AppFilter{States: route.Words(c.Query["state"]), Type: c.Query.Get("type"), Tag: c.Query.Get("tag"),
		Name: c.Query.Get("name"), User: c.Query.Get("user")}
	if err := route.CheckWords("state", f.States, view.AppStates); err != nil {
		return f, err
	}
	if q := c.Query.Get("queue"); q != "" {
		slot, err := v.FindQueue(q)
		if err != nil {
			return f, err
		}
		f.Queues = v.Subtree(slot)
	}
	return f, nil
}

func (s *apps) listApps(c *route.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	var after yarn.ApplicationID
	if text := c.Query.Get("after"); text != "" {
		if after, err = yarn.ParseApplicationID(text); err != nil {
			return problem.Invalid("after: "+err.Error(), "give the next of the page before")
		}
	}
	order := c.Query.Get("order")
	if order != "" && order != "newest" && order != "oldest" {
		return problem.Invalid("order="+order+" is not known", "give oldest or newest")
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	f, err := appFilter(c, v)
	if err != nil {
		return err
	}
	slots, next := route.Page(f.Pick(v, after.Seq, order == "newest", limit), limit,
		func(slot state.AppSlot) string { return v.State.Apps.Get(slot).ID.String() })
	items := func(yield func(api.App) bool) {
		for _, slot := range slots {
			if !yield(s.app(v, slot)) {
				return
			}
		}
	}
	return route.List(c, "apps", items, func() any { return route.NextPage{Next: next} })
}

// ofApp makes a handler of h, which shows something of the application in the path.
func ofApp(h func(c *route.Call, v *view.View, a *state.App) error) route.Handler {
	return func(c *route.Call) error {
		v, err := c.View()
		if err != nil {
			return err
		}
		_, slot, err := v.FindApp(c.Args["id"])
		if err != nil {
			return err
		}
		return h(c, v, v.State.Apps.Get(slot))
	}
}

func (s *apps) showApp(c *route.Call, v *view.View, a *state.App) error {
	return c.JSON(http.StatusOK, s.app(v, v.State.Apps.ByID(a.ID)))
}

func (s *apps) explainApp(c *route.Call, v *view.View, a *state.App) error {
	doc, err := s.Explain(v, a.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}
