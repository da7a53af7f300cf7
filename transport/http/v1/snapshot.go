package v1

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
)

// ActionRestore is the audit's action of a restore.
const ActionRestore = "snapshot restore"

// snapshots serves snapshots of the state.
type snapshots struct{ *shared }

func (s *snapshots) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/snapshot", "stale", s.saveSnapshot).As("snapshot save").Doc(
			"Download a snapshot of the state", nil,
			route.Media("application/octet-stream")),
		route.Put("/v1/snapshot", "replace_state dry_run", s.restoreSnapshot).As(ActionRestore).Doc(
			"Restore the state from a snapshot",
			route.Media("application/octet-stream"), api.Restored{}),
		route.Post("/v1/snapshot:take", "", s.takeSnapshot).As("snapshot take").Doc(
			"Take a snapshot on this replica's disk", nil,
			api.Snapshot{}),
		route.Get("/v1/snapshots", "", s.listSnapshots).Doc("List the snapshots on this replica's disk", nil,
			api.Snapshots{}),
	}
}

func (s *snapshots) snapshots() (Snapshots, error) {
	if s.cfg.Snapshots == nil {
		return nil, problem.NotAvailable("saving and restoring")
	}
	return s.cfg.Snapshots, nil
}

// saveSnapshot streams a snapshot. If an error breaks the stream, the connection closes before the
// end, so that the client does not take the part for the whole. The format also has a trailer.
func (s *snapshots) saveSnapshot(c *route.Call) error {
	snaps, err := s.snapshots()
	if err != nil {
		return err
	}
	info, r, err := snaps.Save(c.R.Context(), c.Flag("stale"))
	if c.R.Method != http.MethodHead { // the state holds the keys that sign tokens
		c.AuditRead("index "+strconv.FormatUint(info.Index, 10), err)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	c.ReadHeaders(info.Index)
	h := c.W.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Rmd-Term", strconv.FormatUint(info.Term, 10))
	h.Set("X-Rmd-Cluster", info.ClusterID)
	h.Set("Content-Disposition", `attachment; filename="rmd-`+strconv.FormatUint(info.Index, 10)+`.snap"`)
	if info.Bytes > 0 {
		h.Set("Content-Length", strconv.FormatInt(info.Bytes, 10))
	}
	c.W.WriteHeader(http.StatusOK)
	if c.R.Method == http.MethodHead {
		return nil
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{c.W}, r, make([]byte, 256<<10)); err != nil {
		s.log.Warn("snapshot not sent whole", "index", info.Index, "error", err)
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	return nil
}

// slowBody sets a new deadline for each read of a long body.
type slowBody struct {
	io.Reader
	rc *http.ResponseController
}

func (b slowBody) Read(p []byte) (int, error) {
	_ = b.rc.SetReadDeadline(time.Now().Add(route.ChunkTimeout)) // the ResponseRecorder of tests has no deadlines
	return b.Reader.Read(p)
}

func (s *snapshots) restoreSnapshot(c *route.Call) error {
	snaps, err := s.snapshots()
	if err != nil {
		return err
	}
	switch t := c.Media(); t {
	case "", "application/octet-stream":
	default:
		return problem.New(api.CodeUnsupportedMedia, t+" is not a snapshot", "send application/octet-stream")
	}
	replace := c.Query.Get("replace_state")
	body := slowBody{c.R.Body, http.NewResponseController(c.W)}
	d, err := snaps.Restore(context.WithoutCancel(c.R.Context()), body, replace, c.Flag("dry_run"),
		input.Caller{Who: c.Who(), From: c.R.RemoteAddr})
	_ = body.rc.SetReadDeadline(time.Time{})
	if err != nil {
		if !c.Flag("dry_run") { // the restored state has the entry of a restore that was done
			c.Audit(replace, err)
		}
		return err
	}
	return c.JSON(http.StatusOK, d)
}

func (s *snapshots) takeSnapshot(c *route.Call) error {
	snaps, err := s.snapshots()
	if err != nil {
		return err
	}
	var d api.Snapshot
	err = s.admin(c, func(ctx context.Context) (err error) {
		d, err = snaps.Take(ctx)
		return err
	})
	c.Audit(d.ID, err)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

func (s *snapshots) listSnapshots(c *route.Call) error {
	c.RoleHeaders()
	list, err := s.Snapshots(c.R.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.Snapshots{Snapshots: list})
}

// Snapshots returns the snapshots of this replica, newest first.
func (s *snapshots) Snapshots(ctx context.Context) ([]api.Snapshot, error) {
	snaps, err := s.snapshots()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	list, err := snaps.List(ctx)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []api.Snapshot{}
	}
	for i := range list {
		if list[i].AtMillis == 0 {
			list[i].AtMillis = takenMillis(list[i].ID)
		}
	}
	return list, nil
}

// takenMillis returns when a snapshot was taken, in Unix milliseconds. It takes the time from the
// id that the snapshot store gives: TERM-INDEX-UNIX_MILLISECONDS. It returns 0 for other ids.
func takenMillis(id string) int64 {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return 0
	}
	at, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || at < 0 {
		return 0
	}
	return at
}
