package verb

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
)

// Get decodes a document into v and also returns its bytes.
func (c *Call) Get(ctx context.Context, path string, q url.Values, v any) ([]byte, error) {
	cl, err := c.Client()
	if err != nil {
		return nil, err
	}
	a, err := cl.Get(ctx, path, q)
	if err != nil {
		return nil, err
	}
	return a.Body, a.Decode(v)
}

// Post sends a write whose answer has no content to show.
func (c *Call) Post(path, name string, body any, format string, args ...any) error {
	cl, err := c.Client()
	if err != nil {
		return err
	}
	a, err := cl.Post(c.Ctx(), path, body)
	if err != nil {
		return err
	}
	return ShowDone(c, a, name, format, args...)
}

// Pages reads a paged list, up to most objects (0: all). The document has the form of one page with
// all objects.
func Pages[T any](ctx context.Context, c *Call, path, field string, q url.Values, most int,
	decode func([]byte) ([]T, string, error)) (Fetched[T], error) {
	var out Fetched[T]
	cl, err := c.Client()
	if err != nil {
		return out, err
	}
	var raw []json.RawMessage
	var doc map[string]json.RawMessage
	for {
		size := pageSize
		if most > 0 {
			size = min(size, most-len(out.Things))
		}
		q.Set("limit", strconv.Itoa(size))
		a, err := cl.Get(ctx, path, q)
		if err != nil {
			return out, err
		}
		things, next, err := decode(a.Body)
		if err != nil {
			return out, a.Decode(&struct{}{})
		}
		out.Things = append(out.Things, things...)
		if c.Format().Machine() {
			var part []json.RawMessage
			doc = nil // otherwise the "next" of the previous page would remain
			if err := json.Unmarshal(a.Body, &doc); err != nil {
				return out, err
			}
			if err := json.Unmarshal(doc[field], &part); err != nil {
				return out, err
			}
			raw = append(raw, part...)
		}
		if next == "" || most > 0 && len(out.Things) >= most {
			break
		}
		q.Set("after", next)
	}
	q.Del("after")
	if doc == nil {
		return out, nil
	}
	if raw == nil {
		raw = []json.RawMessage{}
	}
	if doc[field], err = json.Marshal(raw); err == nil {
		out.Doc, err = json.Marshal(doc)
	}
	return out, err
}

// ReadDoc reads a document of REST.
func ReadDoc(ctx context.Context, cl *client.Client, path string, q url.Values, v any) error {
	a, err := cl.Do(ctx, client.Request{Method: "GET", Path: path, Query: q, Plain: true})
	if err != nil {
		return err
	}
	return a.Decode(v)
}

// ClusterDoc reads /v1/cluster. It does not wait for a leader, because users need the document most
// when there is none. A replica that is not a member, for instance one with a new disk, knows nothing
// about the cluster. Its document is right only if no other replica could know more.
func (c *Call) ClusterDoc(ctx context.Context, d *api.Cluster) ([]byte, error) {
	cl, err := c.Client()
	if err != nil {
		return nil, err
	}
	a, err := cl.Plain(ctx, "/v1/cluster")
	if err != nil {
		return nil, err
	}
	if err := a.Decode(d); err != nil || len(d.Members) > 0 || len(cl.Addrs()) == 1 {
		return a.Body, err
	}
	var silent []string
	for _, s := range cl.Survey(ctx) {
		if s.Err != nil {
			silent = append(silent, s.String())
		}
	}
	if len(silent) > 0 {
		return nil, clierr.New(api.CodeNotInitialized, "start the others; create no second cluster",
			"replica %s at %s is not a member of a cluster, and %s", d.ID, a.From, strings.Join(silent, "; "))
	}
	return a.Body, nil
}

// pageSize is the number of objects per request of a list.
const pageSize = 1000
