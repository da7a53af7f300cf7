package httpserver

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/v1/api"
)

// fork returns the state to answer from, under the read rules: what the replica
// has; or, with ?consistent, at least what the verified leader had committed;
// or, with ?min_index=N, at least N. It sets the headers that say which it is.
func (c *call) fork() (*state.State, uint64, error) {
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	waited, err := c.await(ctx)
	if err != nil {
		return nil, 0, err
	}
	st, index := c.s.forkOf(c.r)
	if waited {
		st, index = c.s.reforked(c.r)
	}
	c.readHeaders(index)
	return st, index, nil
}

// await waits for the index that the read rules ask for, and says whether they
// asked for one.
func (c *call) await(ctx context.Context) (bool, error) {
	least, err := c.number("min_index", 0)
	if err != nil {
		return false, err
	}
	if c.flag("consistent") {
		index, err := c.s.cfg.Consensus.ReadIndex(ctx)
		if err != nil {
			return false, err
		}
		least = max(least, index)
	}
	if least == 0 {
		return false, nil
	}
	return true, c.s.cfg.Reader.WaitApplied(ctx, least)
}

func (c *call) readHeaders(index uint64) {
	c.setIndex(index)
	c.roleHeaders()
}

// roleHeaders say who answers, and how long ago it heard the leader.
func (c *call) roleHeaders() {
	h := c.w.Header()
	h.Set(api.HeaderRole, c.s.cfg.Consensus.Role())
	if d := c.s.cfg.Consensus.Staleness(); d >= 0 {
		h.Set(api.HeaderStaleness, strconv.FormatInt(d.Milliseconds(), 10))
	}
	h.Set("Cache-Control", "no-store")
}

// view returns the state to answer from, with what it takes to show it.
func (c *call) view() (*view, error) {
	st, index, err := c.fork()
	if err != nil {
		return nil, err
	}
	return c.s.viewOf(st, index), nil
}

// list streams {"name":[items],"more":…}: one item is encoded at a time, so a
// list of 100,000 costs no more memory than one of ten.
func list[T any](c *call, name string, items iter.Seq[T], more func() any) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	buf := append(make([]byte, 0, 32<<10), `{"`+name+`":[`...)
	first := true
	for item := range items {
		b, err := json.Marshal(item)
		if err != nil {
			c.s.log.Error("list item cannot be encoded", "list", name, "error", err)
			panic(http.ErrAbortHandler) // the client must not take half a list for a whole one
		}
		if !first {
			buf = append(buf, ',')
		}
		first = false
		if buf = append(buf, b...); len(buf) > 30<<10 {
			if _, err := c.w.Write(buf); err != nil {
				return nil
			}
			buf = buf[:0]
		}
	}
	buf = append(buf, ']')
	if more != nil {
		tail, err := json.Marshal(more())
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if len(tail) > 2 {
			buf = append(append(buf, ','), tail[1:len(tail)-1]...)
		}
	}
	_, _ = c.w.Write(append(buf, '}', '\n'))
	return nil
}

// nextPage is the tail of a paged list.
type nextPage struct {
	Next string `json:"next,omitempty"`
}

// page cuts a sorted slice to the limit and names the last item as the cursor.
func page[T any](items []T, limit int, cursor func(T) string) ([]T, string) {
	if limit <= 0 || len(items) <= limit {
		return items, ""
	}
	items = items[:limit]
	return items, cursor(items[limit-1])
}

// fieldNames lists the JSON names of a document's fields.
func fieldNames(v any) []string {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}
