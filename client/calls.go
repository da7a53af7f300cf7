package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"

	"rmd/transport/http/v1/api"
)

// The calls that programs make most, with their documents. What is not here goes through Get,
// Post, Put, Delete and Do; GET /v1/openapi.json of a replica describes all of it.

// read gets a document.
func read[T any](ctx context.Context, c *Client, path string, query url.Values) (d T, err error) {
	a, err := c.Get(ctx, path, query)
	if err != nil {
		return d, err
	}
	return d, a.Decode(&d)
}

// write sends a document and gets another.
func write[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (d T, err error) {
	a, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return d, err
	}
	return d, a.Decode(&d)
}

// list reads a list page by page, so that a long one needs little memory. An error ends it.
func list[D, T any](ctx context.Context, c *Client, path string, query url.Values, page func(D) ([]T, string)) iter.Seq2[T, error] {
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

// Submit submits an application. An ID that the caller chose, or the client's own idempotency
// key, keep a repeated submission from making a second application.
func (c *Client) Submit(ctx context.Context, app api.Submit) (api.Submitted, error) {
	return write[api.Submitted](ctx, c, http.MethodPost, "/v1/apps", nil, app)
}

// App shows an application: its state, what it holds and what it waits for.
func (c *Client) App(ctx context.Context, id string) (api.App, error) {
	return read[api.App](ctx, c, appPath(id, ""), nil)
}

// Apps lists applications by sequence number. Query filters them: state, queue, user, type, name,
// tag, order.
func (c *Client) Apps(ctx context.Context, query url.Values) iter.Seq2[api.App, error] {
	return list(ctx, c, "/v1/apps", query, func(d api.Apps) ([]api.App, string) { return d.Apps, d.Next })
}

// Explain says why an application waits.
func (c *Client) Explain(ctx context.Context, id string) (api.Explanation, error) {
	return read[api.Explanation](ctx, c, appPath(id, "/explain"), nil)
}

// Kill ends an application. Why goes into its diagnostics.
func (c *Client) Kill(ctx context.Context, id, why string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, appPath(id, ":kill"), nil, api.Kill{Diagnostics: why})
}

// Move takes an application to another leaf queue.
func (c *Client) Move(ctx context.Context, id, queue string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, appPath(id, ":move"), nil, api.Move{Queue: queue})
}

func appPath(id, tail string) string { return "/v1/apps/" + url.PathEscape(id) + tail }

// Nodes lists nodes by id. Query filters them: state, rack, label.
func (c *Client) Nodes(ctx context.Context, query url.Values) iter.Seq2[api.Node, error] {
	return list(ctx, c, "/v1/nodes", query, func(d api.Nodes) ([]api.Node, string) { return d.Nodes, d.Next })
}

// Drain begins the graceful decommission of a node.
func (c *Client) Drain(ctx context.Context, node string, how api.Drain) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, nodePath(node, ":drain"), nil, how)
}

// Undrain takes a node back into service.
func (c *Client) Undrain(ctx context.Context, node string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodPost, nodePath(node, ":undrain"), nil, nil)
}

func nodePath(id, tail string) string { return "/v1/nodes/" + url.PathEscape(id) + tail }

// Labels lists the node labels.
func (c *Client) Labels(ctx context.Context) (api.Labels, error) {
	return read[api.Labels](ctx, c, "/v1/labels", nil)
}

// Label shows a label with its queues and the applications that wait for it.
func (c *Client) Label(ctx context.Context, name string) (api.LabelDetails, error) {
	return read[api.LabelDetails](ctx, c, "/v1/labels/"+url.PathEscape(name), nil)
}

// LabelMap lists the hosts and NodeManagers that have a label. Query filters them: label.
func (c *Client) LabelMap(ctx context.Context, query url.Values) iter.Seq2[api.MappedNode, error] {
	return list(ctx, c, "/v1/labels:map", query, func(d api.LabelMap) ([]api.MappedNode, string) { return d.Nodes, d.Next })
}

// AddLabels adds labels, or changes whether they are exclusive.
func (c *Client) AddLabels(ctx context.Context, add api.AddLabels) (api.LabelChange, error) {
	return write[api.LabelChange](ctx, c, http.MethodPost, "/v1/labels:add", nil, add)
}

// RemoveLabels removes labels.
func (c *Client) RemoveLabels(ctx context.Context, remove api.RemoveLabels) (api.LabelChange, error) {
	return write[api.LabelChange](ctx, c, http.MethodPost, "/v1/labels:remove", nil, remove)
}

// MapLabels gives hosts and NodeManagers labels.
func (c *Client) MapLabels(ctx context.Context, nodes api.MapLabels) (api.LabelChange, error) {
	return write[api.LabelChange](ctx, c, http.MethodPost, "/v1/labels:map", nil, nodes)
}

// Queues shows the queue tree.
func (c *Client) Queues(ctx context.Context) (api.Queues, error) {
	return read[api.Queues](ctx, c, "/v1/queues", nil)
}

// Reservations lists the current reservations, the oldest first. Query filters them: node, app,
// queue.
func (c *Client) Reservations(ctx context.Context, query url.Values) iter.Seq2[api.Reservation, error] {
	return list(ctx, c, "/v1/reservations", query, func(d api.Reservations) ([]api.Reservation, string) { return d.Reservations, d.Next })
}

// CancelReservation gives a reserved node free again.
func (c *Client) CancelReservation(ctx context.Context, id, why string) (api.Done, error) {
	return write[api.Done](ctx, c, http.MethodDelete, "/v1/reservations/"+url.PathEscape(id), url.Values{"reason": {why}}, nil)
}

// Cluster shows the replicas, who leads, and a verdict. It needs no leader.
func (c *Client) Cluster(ctx context.Context) (d api.Cluster, err error) {
	a, err := c.Plain(ctx, "/v1/cluster")
	if err != nil {
		return d, err
	}
	return d, a.Decode(&d)
}

// Watch calls each for every committed entry with an event that passes, until ctx ends or each
// returns an error; Stop ends it without one. Query filters the events: app, node, queue, kind;
// why adds the causes of decisions. After is the log index behind which to begin; 0 is now.
// Watch goes on at another replica when one fails: no entry is lost or comes twice. When the
// replicas hold the events after an index no more, the error is an *api.Error with the code
// api.CodeTooOld. Seen is called with the index that everything up to it has been seen; nil
// when nobody wants to know.
func (c *Client) Watch(ctx context.Context, query url.Values, after uint64, each func(api.EventBatch) error, seen func(index uint64)) error {
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
