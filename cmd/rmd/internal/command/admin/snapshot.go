package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/bytesize"
	"rmd/internal/exitcode"
	"rmd/internal/thousands"
	"rmd/snapshot"
)

// SnapshotVerbs returns the commands of backup and restore.
func SnapshotVerbs() verb.Verb {
	return verb.Noun("snapshot", "backup and restore of the replicated state",
		snapshotSave(), snapshotInspect(), snapshotRestore(), snapshotList())
}

func snapshotSave() verb.Verb {
	return verb.Verb{
		Name: "save", Usage: "write the state to a file", Args: "FILE", Min: 1, Max: 1,
		Long:     "It reads from the leader, with --stale from the called replica. It verifies the data before the file gets its name.",
		Flags:    []cli.Flag{&cli.BoolFlag{Name: "overwrite", Usage: "replace an existing file"}},
		Examples: []string{"rmd snapshot save state.snap"},
		Complete: []verb.Source{verb.Files},
		Run:      runSave,
	}
}

func runSave(c *verb.Call) error {
	path := c.Arg(0)
	if _, err := os.Stat(path); err == nil && !c.Bool("overwrite") {
		return clierr.New(clierr.CodeExists, "choose another name, or use --overwrite", "%s already exists", path)
	}
	cl, err := c.Client()
	if err != nil {
		return err
	}
	q := url.Values{}
	if c.Bool("stale") {
		q.Set("stale", "true")
	}
	a, err := cl.Do(c.Ctx(), client.Request{Method: http.MethodGet, Path: "/v1/snapshot", Query: q,
		Silence: c.Span("timeout"), Plain: true})
	if err != nil {
		return err
	}
	defer a.Stream.Close()
	tmp, err := os.CreateTemp(filepath.Dir(path), ".snapshot-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails if the file was already renamed, which is expected
	_, err = io.Copy(tmp, a.Stream)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("receive snapshot: %w", err)
	}
	info, err := inspectFile(tmp.Name())
	if err == nil {
		err = mayOverwrite(path, info)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	doc, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return verb.ShowDone(c, &client.Answer{Body: doc}, path, "%s: index %s, term %d, %s, digest %s", path,
		output.Count(info.Index), info.Term, bytesize.Format(info.Bytes), info.Digest)
}

// mayOverwrite refuses a snapshot without state, and one that would replace a snapshot of another
// cluster or a newer one, as a replica that has lost its disk or that lags behind could send.
func mayOverwrite(path string, info snapshot.Info) error {
	if info.Index == 0 || info.ClusterID == "" {
		return clierr.New("NOT_READY", "save it from a replica that knows the state; "+path+" was not written",
			"the replica sent a snapshot without state")
	}
	have, err := inspectFile(path)
	switch {
	case err != nil: // there is none, or it is worth nothing
		return nil
	case have.ClusterID != info.ClusterID:
		return clierr.New(clierr.CodeExists, "choose another name", "%s is of cluster %s, the new snapshot of cluster %s",
			path, have.ClusterID, info.ClusterID)
	case have.Epoch > info.Epoch || have.Epoch == info.Epoch && have.Index > info.Index:
		return clierr.New(clierr.CodeExists, "choose another name, or save it from the leader",
			"%s is newer: epoch %d and index %d, the new snapshot has epoch %d and index %d", path, have.Epoch, have.Index,
			info.Epoch, info.Index)
	}
	return nil
}

// inspectFile verifies a whole snapshot file.
func inspectFile(path string) (snapshot.Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return snapshot.Info{}, err
	}
	defer f.Close()
	info, err := snapshot.Verify(f)
	switch {
	case errors.Is(err, snapshot.ErrMagic):
		return info, clierr.New("NOT_A_SNAPSHOT", "name a file that \"rmd snapshot save\" wrote", "%s is not a snapshot of rmd",
			path)
	case err != nil:
		return info, &clierr.Error{Code: "SNAPSHOT_DAMAGED", What: fmt.Sprintf("%s: %v", path, err), Do: "use another file",
			Exit: exitcode.CheckFailed, Err: err}
	}
	return info, nil
}

func snapshotInspect() verb.Verb {
	return verb.Verb{Name: "inspect", Usage: "verify a snapshot file and show its content", Args: "FILE", Min: 1, Max: 1,
		Examples: []string{"rmd snapshot inspect state.snap"},
		Complete: []verb.Source{verb.Files},
		Run: func(c *verb.Call) error {
			info, err := inspectFile(c.Arg(0))
			if err != nil {
				return err
			}
			return verb.ShowFacts(c, func() string { return c.Arg(0) }, func(context.Context) ([]byte, []output.Fact, error) {
				doc, err := json.Marshal(info)
				facts := []output.Fact{
					{Name: "file", Value: c.Arg(0)}, {Name: "format", Value: fmt.Sprint(info.Format)},
					{Name: "cluster id", Value: info.ClusterID},
					{Name: "index", Value: output.Count(info.Index)}, {Name: "term", Value: output.Number(info.Term)},
					{Name: "feature level", Value: output.Number(info.Level)},
					{Name: "epoch", Value: output.Number(info.Epoch)}, {Name: "size", Value: bytesize.Format(info.Bytes)},
					{Name: "digest", Value: info.Digest}, {Name: "sha256", Value: info.SHA256},
				}
				return doc, append(facts, sectionFacts(info.Sections)...), err
			})
		}}
}

// sectionFacts returns the sections that have records, and how many have none.
func sectionFacts(sections []snapshot.SectionInfo) []output.Fact {
	var facts []output.Fact
	empty := 0
	for _, s := range sections {
		if s.Records == 0 {
			empty++
			continue
		}
		facts = append(facts, output.Fact{Name: "  " + s.Name,
			Value: fmt.Sprintf("%s, %s", thousands.Count(s.Records, "record"), bytesize.Format(s.Bytes))})
	}
	if empty > 0 {
		facts = append(facts, output.Fact{Name: "  others", Value: thousands.Count(empty, "section") + " without records"})
	}
	return facts
}

func snapshotRestore() verb.Verb {
	return verb.Verb{
		Name: "restore", Usage: "replace the state with a snapshot's", Args: "FILE", Min: 1, Max: 1,
		Long: "It restores into a new cluster, or with --replace-state and the cluster's id into one that has state.\nIf the file has no access tokens, the cluster keeps its own. The command and the cluster both verify the whole file first.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "replace-state", Usage: "id of the cluster whose state is replaced"},
			verb.DryRunFlag(), verb.YesFlag(),
		},
		Examples: []string{"rmd snapshot restore state.snap --dry-run"},
		Complete: []verb.Source{verb.Files},
		Run:      runRestore,
	}
}

func runRestore(c *verb.Call) error {
	path := c.Arg(0)
	info, err := inspectFile(path)
	if err != nil {
		return err
	}
	q := url.Values{}
	if id := c.String("replace-state"); id != "" {
		q.Set("replace_state", id)
		if !c.Bool("dry-run") {
			if err := c.Confirm(id, "replace the whole state of cluster %s with index %d of %s", id, info.Index,
				info.ClusterID); err != nil {
				return err
			}
		}
	}
	if c.Bool("dry-run") {
		q.Set("dry_run", "true")
	}
	cl, err := c.Client()
	if err != nil {
		return err
	}
	req := client.Request{Method: http.MethodPut, Path: "/v1/snapshot", Query: q, ContentType: "application/octet-stream",
		Stream: func() (io.ReadCloser, error) { return os.Open(path) }}
	a, err := cl.Do(c.Ctx(), req)
	var doc *api.Error
	if errors.As(err, &doc) && doc.Code == api.CodeNotLeader {
		if cl, err = leaderClient(c, cl); err == nil {
			a, err = cl.Do(c.Ctx(), req)
		}
	}
	if err != nil {
		return err
	}
	var d api.Restored
	if err := a.Decode(&d); err != nil {
		return err
	}
	kept := ""
	if d.TokensKept > 0 {
		kept = fmt.Sprintf("; the file has no access tokens, so the cluster keeps its own (%d)", d.TokensKept)
	}
	apps, nodes := thousands.Count(d.Apps, "application"), thousands.Count(d.Nodes, "node")
	if d.DryRun {
		return verb.ShowDone(c, a, path, "%s can be restored: %s, %s%s", path, apps, nodes, kept)
	}
	return verb.ShowDone(c, a, path, "restored %s: %s, %s, epoch %d%s", path, apps, nodes, d.Epoch, kept)
}

// leaderClient returns a client for the leader only, because replicas do not forward a snapshot. It
// uses the port of the same kind, TLS or plain, as the client of the follower that refused.
func leaderClient(c *verb.Call, follower *client.Client) (*client.Client, error) {
	var d api.Cluster
	if _, err := c.ClusterDoc(c.Ctx(), &d); err != nil {
		return nil, err
	}
	secure := strings.HasPrefix(follower.Addrs()[0], "https://")
	for _, m := range d.Members {
		switch {
		case !m.Leader:
		case secure && m.HTTPSAddress != "":
			return c.ClientOf([]string{"https://" + m.HTTPSAddress})
		case m.HTTPAddress != "":
			return c.ClientOf([]string{m.HTTPAddress})
		}
	}
	return nil, clierr.New("NO_LEADER", "wait for an election, or name it with --addr",
		"the leader's REST address is not known")
}

func snapshotList() verb.Verb {
	list := output.List[api.Snapshot]{
		Name: func(s api.Snapshot) string { return s.ID }, Empty: "no snapshots",
		Columns: []output.Column[api.Snapshot]{
			{Head: "ID", Text: func(s api.Snapshot) string { return s.ID }},
			{Head: "INDEX", Text: func(s api.Snapshot) string {
				return output.Number(s.Index)
			}, Key: func(s api.Snapshot) float64 { return float64(s.Index) }, Right: true},
			{Head: "TERM", Text: func(s api.Snapshot) string { return output.Number(s.Term) }, Right: true},
			{Head: "SIZE", Text: func(s api.Snapshot) string {
				return bytesize.Format(s.Bytes)
			}, Key: func(s api.Snapshot) float64 { return float64(s.Bytes) }, Right: true},
			{Head: "WHEN", Text: func(s api.Snapshot) string {
				return output.Time(s.AtMillis)
			}, Key: func(s api.Snapshot) float64 { return float64(s.AtMillis) }},
		},
	}
	return verb.Verb{Name: "list", Aliases: []string{"ls"}, Usage: "list the snapshots on a replica's disk",
		Flags:    verb.ListFlags(list),
		Examples: []string{"rmd snapshot list --addr rm2:8088"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, list, func(ctx context.Context) (f verb.Fetched[api.Snapshot], err error) {
				cl, err := c.Client()
				if err != nil {
					return f, err
				}
				a, err := cl.Plain(ctx, "/v1/snapshots")
				if err != nil {
					return f, err
				}
				var d api.Snapshots
				f.Doc, err = a.Body, a.Decode(&d)
				f.Things = d.Snapshots
				return f, err
			})
		}}
}
