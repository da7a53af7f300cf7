package v1

import (
	"net/http"

	"rmd/scheduler/input"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *API) queueRoutes() []route.Route {
	return []route.Route{
		route.Get("/v1/queues", "", s.listQueues).Doc("Show the queue tree", nil, api.Queues{}),
		route.Get("/v1/queues/{path}", "", s.showQueue).Doc("Show a queue with its subtree", nil, api.Queue{}),
		route.Post("/v1/queues/{path}:stop", "", func(c *route.Call) error { return s.setQueueState(c, yarn.QueueStopped) }).Doc("Stop a queue: it takes no new applications", nil, api.Done{}),
		route.Post("/v1/queues/{path}:start", "", func(c *route.Call) error { return s.setQueueState(c, yarn.QueueRunning) }).Doc("Start a stopped queue", nil, api.Done{}),
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
