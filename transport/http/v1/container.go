package v1

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

func appContainers(c *route.Call, v *view.View, a *state.App) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	var after yarn.ContainerID
	if text := c.Query.Get("after"); text != "" {
		if after, err = yarn.ParseContainerID(text); err != nil {
			return problem.Invalid("after: "+err.Error(), "give the next of the page before")
		}
	}
	slots := v.ContainersOf(a, after.Attempt, after.Number)
	slots, next := route.Page(slots, limit, func(at state.ContainerSlot) string {
		return v.State.Apps.ContainerID(v.State.Containers.Get(at)).String()
	})
	items := func(yield func(api.Container) bool) {
		for _, at := range slots {
			if !yield(v.Container(v.State.Containers.Get(at))) {
				return
			}
		}
	}
	return route.List(c, "containers", items, func() any { return route.NextPage{Next: next} })
}
