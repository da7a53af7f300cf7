package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"

	"rmd/api"
)

// These are the most frequent calls, with their documents. Other calls use Get, Post, Put, Delete
// or Do. GET /v1/openapi.json of a replica describes all of them.

// read sends a GET request and decodes the answer.
func read[T any](ctx context.Context, c *Client, path string, query url.Values) (d T, err error) {
	a, err := c.Get(ctx, path, query)
	if err != nil {
		return d, err
	}
	return d, a.Decode(&d)
}

// write sends a document and decodes the answer.
func write[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (d T, err error) {
	a, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return d, err
	}
	return d, a.Decode(&d)
}

// list reads a list page by page, so that a long one needs little memory. It ends after an error.
func list[D, T any](ctx context.Context, c *Client, path string, query url.Values,
	page func(D) ([]T, string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := maps.Clone(query)
		if q == nil {
			q = url.Values{}
		}
		if !q.Has("limit") {
			q.Set("limit", "1000")
		}
		for {
			d, err := read[D](ctx, c, path, q)
			if err != nil {
				yield(*new(T), err)
				return
			}
			items, next := page(d)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			q.Set("after", next)
		}
	}
}

// Submit submits an application. A repeated submission does not create a second application,
// because of app.ID if it is set, and otherwise because of the client's idempotency key.
func (c *Client) Submit(ctx context.Context, app api.Submit) (api.Submitted, error) {
	return write[api.Submitted](ctx, c, http.MethodPost, "/v1/apps", nil, app)
}

// App returns an application: its state, its containers and what it waits for.
func (c *Client) App(ctx context.Context, id string) (api.App, error) {
	return read[api.App](ctx, c, appPath(id, ""), nil)
}

// Apps lists applications by sequence number. query filters them: state, queue, user, type, name,
// tag, order.
func (c *Client) Apps(ctx context.Context, query url.Values) iter.Seq2[api.App, error] {
	return list(ctx, c, "/v1/apps", query, func(d api.Apps) ([]api.App, string) { return d.Apps, d.Next })
}

// Explain returns why an application waits.
func (c *Client) Explain(ctx context.Context, id string) (api.Explanation, error) {
	return read[api.Explanation](ctx, c, appPath(id, "/explain"), nil)
}

// Kill ends an application. why becomes part of its diagnostics.
func (c *Client) Kill(ctx context.Context, id, why string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, appPath(id, ":kill"), nil, api.Kill{Diagnostics: why})
}

// Move moves an application to another leaf queue.
func (c *Client) Move(ctx context.Context, id, queue string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, appPath(id, ":move"), nil, api.Move{Queue: queue})
}

func appPath(id, tail string) string { return "/v1/apps/" + url.PathEscape(id) + tail }

// Nodes lists nodes by id. query filters them: state, rack, label.
func (c *Client) Nodes(ctx context.Context, query url.Values) iter.Seq2[api.Node, error] {
	return list(ctx, c, "/v1/nodes", query, func(d api.Nodes) ([]api.Node, string) { return d.Nodes, d.Next })
}

// Drain begins the graceful decommission of a node.
func (c *Client) Drain(ctx context.Context, node string, how api.Drain) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, nodePath(node, ":drain"), nil, how)
}

// Undrain returns a node to service.
func (c *Client) Undrain(ctx context.Context, node string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, nodePath(node, ":undrain"), nil, nil)
}

func nodePath(id, tail string) string { return "/v1/nodes/" + url.PathEscape(id) + tail }

// Labels lists the node labels.
func (c *Client) Labels(ctx context.Context) (api.Labels, error) {
	return read[api.Labels](ctx, c, "/v1/labels", nil)
}

// Label returns a label with its queues and the applications that wait for it.
func (c *Client) Label(ctx context.Context, name string) (api.LabelDetails, error) {
	return read[api.LabelDetails](ctx, c, "/v1/labels/"+url.PathEscape(name), nil)
}

// LabelMap lists the hosts and NodeManagers that have a label. query filters them: label.
func (c *Client) LabelMap(ctx context.Context, query url.Values) iter.Seq2[api.MappedNode, error] {
	return list(ctx, c, "/v1/labels:map", query,
		func(d api.LabelMap) ([]api.MappedNode, string) { return d.Nodes, d.Next })
}

// AddLabels adds labels, or changes whether they are exclusive.
func (c *Client) AddLabels(ctx context.Context, add api.AddLabels) (api.LabelChange, error) {
	return write[api.LabelChange](ctx, c, http.MethodPost, "/v1/labels:add", nil, add)
}

// RemoveLabels removes labels.
func (c *Client) RemoveLabels(ctx context.Context, remove api.RemoveLabels) (api.LabelChange, error) {
	return write[api.LabelChange](ctx, c, http.MethodPost, "/v1/labels:remove", nil, remove)
}

// MapLabels assigns labels to hosts and NodeManagers.
func (c *Client) MapLabels(ctx context.Context, nodes api.MapLabels) (api.LabelChange, error) {
	return write[api.LabelChange](ctx, c, http.MethodPost, "/v1/labels:map", nil, nodes)
}

// Queues returns the queue tree.
func (c *Client) Queues(ctx context.Context) (api.Queues, error) {
	return read[api.Queues](ctx, c, "/v1/queues", nil)
}

// Reservations lists the current reservations, oldest first. query filters them: node, app, queue.
func (c *Client) Reservations(ctx context.Context, query url.Values) iter.Seq2[api.Reservation, error] {
	return list(ctx, c, "/v1/reservations", query,
		func(d api.Reservations) ([]api.Reservation, string) { return d.Reservations, d.Next })
}

// CancelReservation cancels a reservation.
func (c *Client) CancelReservation(ctx context.Context, id, why string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodDelete, "/v1/reservations/"+url.PathEscape(id),
		url.Values{"reason": {why}}, nil)
}

// Cluster returns the replicas, the leader and a verdict. It needs no leader.
func (c *Client) Cluster(ctx context.Context) (d api.Cluster, err error) {
	a, err := c.Plain(ctx, "/v1/cluster")
	if err != nil {
		return d, err
	}
	return d, a.Decode(&d)
}

// Watch calls each for every committed entry with events that match query, until ctx ends or each
// returns an error. If each returns Stop(), Watch returns nil. query filters the events: app, node,
// queue, kind; why adds the causes of decisions. Watch begins after the log index after; 0 means
// now. If a replica fails, it continues at another one: no entry is lost or repeated. If the
// replicas no longer have the events after an index, the error is an *api.Error with the code
// api.CodeTooOld. seen, which may be nil, is called with the index up to which everything was seen.
func (c *Client) Watch(ctx context.Context, query url.Values, after uint64, each func(api.EventBatch) error,
	seen func(index uint64)) error {
	return c.Events(ctx, "/v1/events", query, after, func(m Message) error {
		if seen != nil {
			seen(m.Index())
		}
		if m.Event != "batch" {
			return nil
		}
		var b api.EventBatch
		if err := json.Unmarshal(m.Data, &b); err != nil {
			return fmt.Errorf("event stream: %w", err)
		}
		return each(b)
	})
}
