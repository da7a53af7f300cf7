package verb

import (
	"net/netip"
	"strings"

	"rmd/cmd/internal/output"
)

// QueueColumn returns a column of paths of queues. A narrow terminal shows them without "root." if
// all begin with it.
func QueueColumn[T any](path func(T) string) output.Column[T] {
	return output.Column[T]{Head: "QUEUE", Text: path, Shrink: true, Short: unlessSame(path, belowRoot)}
}

func belowRoot(path string) (kept, gone string) {
	if below, ok := strings.CutPrefix(path, "root."); ok {
		return below, "root."
	}
	return path, ""
}

// NodeColumn returns a column of ids of nodes. A narrow terminal shows them without domain and port,
// or without port, if that is the same for all. Commands take both.
func NodeColumn[T any](head string, id func(T) string) output.Column[T] {
	return output.Column[T]{Head: head, Text: id, Shrink: true, Short: unlessSame(id, beforeDomain, beforePort)}
}

func beforePort(id string) (kept, gone string) {
	i := max(strings.LastIndexByte(id, ':'), 0)
	return id[:i], id[i:]
}

func beforeDomain(id string) (kept, gone string) {
	host, port := beforePort(id)
	if _, err := netip.ParseAddr(host); err == nil {
		return host, port
	}
	host, _, _ = strings.Cut(host, ".")
	return host, id[len(host):]
}

// unlessSame returns short texts without the part that all rows have in common, or whole texts if
// they have none. Each split divides a text into what differs and that part.
func unlessSame[T any](text func(T) string, splits ...func(string) (kept, gone string)) func([]T) func(T) string {
	return func(things []T) func(T) string {
		for _, split := range splits {
			gone := map[string]bool{}
			for _, t := range things {
				_, part := split(text(t))
				gone[part] = true
			}
			if len(gone) == 1 {
				return func(t T) string { kept, _ := split(text(t)); return kept }
			}
		}
		return text
	}
}

// ShortApp shortens ids of applications to the number at their end, which commands take as ids.
func ShortApp[T any](id func(T) string) func([]T) func(T) string {
	return func([]T) func(T) string {
		return func(t T) string { return id(t)[strings.LastIndexByte(id(t), '_')+1:] }
	}
}
