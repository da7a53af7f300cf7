package v1

import (
	"slices"
	"strconv"

	"rmd/api"
	"rmd/fsm/apptoken"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

func appTokenRoutes() []route.Route {
	return []route.Route{
		route.Get("/v1/tokens", "app state limit after",
			listAppTokens).Doc("List the tokens that applications carry for other services, one page", nil, api.AppTokens{}),
	}
}

func listAppTokens(c *route.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	after, err := c.Number("after", 0)
	if err != nil {
		return err
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	pass, err := appTokenFilter(c, v)
	if err != nil {
		return err
	}
	var list []*apptoken.Token
	for t := range v.State.AppTokens.Tokens() {
		if uint64(t.Number) > uint64(after) && pass(t) {
			list = append(list, t)
		}
	}
	list,
		next := route.Page(list, limit, func(t *apptoken.Token) string { return strconv.FormatUint(uint64(t.Number), 10) })
	items := func(yield func(api.AppToken) bool) {
		for _, t := range list {
			if !yield(view.AppToken(v.State, t)) {
				return
			}
		}
	}
	return route.List(c, "tokens", items, func() any {
		return struct {
			Next string `json:"next,omitempty"`
		}{next}
	})
}

// appTokenFilter reads the filters. The named application must exist.
func appTokenFilter(c *route.Call, v *view.View) (func(t *apptoken.Token) bool, error) {
	app, phase := uint32(0), c.Query.Get("state")
	if text := c.Query.Get("app"); text != "" {
		id, _, err := v.FindApp(text)
		if err != nil {
			return nil, err
		}
		app = id.Seq
	}
	if phase != "" && !slices.Contains(apptoken.Phases(), phase) {
		return nil, problem.Invalid("there is no such state of tokens", "give new, kept, lost or ending", "state")
	}
	return func(t *apptoken.Token) bool {
		_, has := slices.BinarySearch(t.Apps, app)
		return (app == 0 || has) && (phase == "" || t.Phase.String() == phase)
	}, nil
}
