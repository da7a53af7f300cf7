package work

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

// topMost is the maximum number of objects in a view. More do not fit on a screen.
const topMost = 1000

// topPicture is the data of one picture.
type topPicture struct {
	by      string
	cluster api.Cluster
	apps    []api.App
	queues  []verb.FlatQueue
	nodes   []api.Node
	more    bool // not all objects were read
}

// read reads from one replica's own state, without the leader.
func (p *topPicture) read(ctx context.Context, cl *client.Client) error {
	if err := verb.ReadDoc(ctx, cl, "/v1/cluster", nil, &p.cluster); err != nil {
		return err
	}
	most := url.Values{"limit": {strconv.Itoa(topMost)}}
	switch p.by {
	case "app":
		var d api.Apps
		most.Set("state", "SUBMITTED,ACCEPTED,RUNNING")
		err := verb.ReadDoc(ctx, cl, "/v1/apps", most, &d)
		p.apps, p.more = d.Apps, d.Next != ""
		return err
	case "node":
		var d api.Nodes
		err := verb.ReadDoc(ctx, cl, "/v1/nodes", most, &d)
		p.nodes, p.more = d.Nodes, d.Next != ""
		return err
	}
	var d api.Queues
	err := verb.ReadDoc(ctx, cl, "/v1/queues", nil, &d)
	p.queues = verb.Flatten(d.Root, 0)
	return err
}

// document returns the picture as a document for machine formats.
func (p *topPicture) document() ([]byte, error) {
	doc := map[string]any{"cluster": p.cluster}
	switch p.by {
	case "app":
		doc["apps"] = p.apps
	case "node":
		doc["nodes"] = p.nodes
	default:
		doc["queues"] = p.queues
	}
	return json.Marshal(doc)
}

// topTable shows the objects of one view.
type topTable struct {
	heads []string
	write func(w io.Writer, p *topPicture, o output.Options) error
	check func(sort string) error
}

// next returns the sort order for the column after the current one: ascending for names, descending
// for numbers.
func (t topTable) next(sort string) string {
	head := nextOf(t.heads, strings.ToLower(strings.TrimPrefix(sort, "-")))
	switch head {
	case "id", "queue", "state":
		return head
	}
	return "-" + head
}

func topTableOf[T any](l output.List[T], things func(*topPicture) []T) topTable {
	t := topTable{
		write: func(w io.Writer, p *topPicture, o output.Options) error { return l.Write(w, things(p), o) },
		check: func(sort string) error { return l.Write(io.Discard, nil, output.Options{Sort: sort}) },
	}
	for _, c := range l.Columns {
		if !c.Wide && c.Spare == 0 && (!c.End || c.Key != nil) { // a spare column may be invisible; a sentence has no order
			t.heads = append(t.heads, strings.ToLower(c.Head))
		}
	}
	return t
}

var topTables = map[string]topTable{
	"app":   topTableOf(appColumns, func(p *topPicture) []api.App { return p.apps }),
	"queue": topTableOf(queueColumns(false), func(p *topPicture) []verb.FlatQueue { return p.queues }),
	"node":  topTableOf(nodeColumns, func(p *topPicture) []api.Node { return p.nodes }),
}
