package v1

import (
	"net/http"

	"rmd/scheduler/input"
	"rmd/transport/http/route"
	"rmd/yarn"
)

func (s *API) queueRoutes() []route.Route {
	return []route.Route{
		route.Get("/v1/queues", "", s.listQueues),
		route.Get("/v1/queues/{path}", "", s.showQueue),
		route.Post("/v1/queues/{path}:stop", "", func(c *route.Call) error { return s.setQueueState(c, yarn.QueueStopped) }),
		route.Post("/v1/queues/{path}:start", "", func(c *route.Call) error { return s.setQueueState(c, yarn.QueueRunning) }),
	}
}

func (s *API) listQueues(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Queues())
}

func (s *API) showQueue(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	slot, err := v.FindQueue(c.Args["path"])
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Queue(slot))
}

func (s *API) setQueueState(c *route.Call, to yarn.QueueState) error {
	st, index := s.cfg.Reader.Fork()
	path := c.Args["path"]
	if slot, err := s.cfg.Views.At(st, index).FindQueue(path); err == nil {
		path = st.Queues.Get(slot).Path
	}
	return c.Done(&input.SetQueueState{Queue: path, State: to})
}
