package route

import (
	"encoding/json"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// List streams {"name":[items],"more":…}. It encodes one item at a time, so a list of 100,000 items
// needs no more memory than one of ten.
func List[T any](c *Call, name string, items iter.Seq[T], more func() any) error {
	c.W.Header().Set("Content-Type", "application/json")
	c.W.WriteHeader(http.StatusOK)
	if c.R.Method == http.MethodHead {
		return nil
	}
	buf := append(make([]byte, 0, 32<<10), `{"`+name+`":[`...)
	first := true
	for item := range items {
		b, err := json.Marshal(item)
		if err != nil {
			c.mux.log.Error("list item cannot be encoded", "list", name, "error", err)
			panic(http.ErrAbortHandler) // the client must not take half a list for the whole
		}
		if !first {
			buf = append(buf, ',')
		}
		first = false
		if buf = append(buf, b...); len(buf) > 30<<10 {
			if _, err := c.W.Write(buf); err != nil {
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
	_, _ = c.W.Write(append(buf, '}', '\n'))
	return nil
}

// NextPage is the end of a paged list.
type NextPage struct {
	Next string `json:"next,omitempty"`
}

// Page truncates a sorted slice to the limit, and returns the cursor of its last item, or "" if the
// page is the last.
func Page[T any](items []T, limit int, cursor func(T) string) ([]T, string) {
	if limit <= 0 || len(items) <= limit {
		return items, ""
	}
	items = items[:limit]
	return items, cursor(items[limit-1])
}

// fieldNames returns the JSON names of a document's fields.
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

// ChunkTimeout is the time that a client has to read one part of an answer, or to send one part of
// a long body.
const ChunkTimeout = 30 * time.Second
