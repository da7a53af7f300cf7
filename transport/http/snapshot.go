package httpserver

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rmd/transport/http/v1/api"
)

func (s *Server) snapshotRoutes() []route {
	return []route{
		get("/v1/snapshot", "stale", saveSnapshot),
		put("/v1/snapshot", "replace_state dry_run", restoreSnapshot),
		post("/v1/snapshot:take", "", takeSnapshot),
		get("/v1/snapshots", "", listSnapshots),
	}
}

func (c *call) snapshots() (Snapshots, error) {
	if c.s.cfg.Snapshots == nil {
		return nil, notAvailable("saving and restoring")
	}
	return c.s.cfg.Snapshots, nil
}

// saveSnapshot streams a snapshot. A stream that breaks ends without its last
// chunk, so that a client cannot take part of one for the whole; the format has
// a trailer besides.
func saveSnapshot(c *call) error {
	snaps, err := c.snapshots()
	if err != nil {
		return err
	}
	info, r, err := snaps.Save(c.r.Context(), c.flag("stale"))
	if err != nil {
		return err
	}
	defer r.Close()
	c.readHeaders(info.Index)
	h := c.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Rmd-Term", strconv.FormatUint(info.Term, 10))
	h.Set("X-Rmd-Cluster", info.ClusterID)
	h.Set("Content-Disposition", `attachment; filename="rmd-`+strconv.FormatUint(info.Index, 10)+`.snap"`)
	if info.Bytes > 0 {
		h.Set("Content-Length", strconv.FormatInt(info.Bytes, 10))
	}
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{c.w}, r, make([]byte, 256<<10)); err != nil {
		c.s.log.Warn("snapshot not sent whole", "index", info.Index, "error", err)
		panic(http.ErrAbortHandler) // closes the connection: net/http's way to break a stream
	}
	return nil
}

// slowBody gives every read of a long body its own deadline.
type slowBody struct {
	io.Reader
	rc *http.ResponseController
}

// Read implements io.Reader.
func (b slowBody) Read(p []byte) (int, error) {
	_ = b.rc.SetReadDeadline(time.Now().Add(chunkTimeout)) // a recorder in tests has none
	return b.Reader.Read(p)
}

func restoreSnapshot(c *call) error {
	snaps, err := c.snapshots()
	if err != nil {
		return err
	}
	switch t := c.media(); t {
	case "", "application/octet-stream":
	default:
		return problem(api.CodeUnsupportedMedia, t+" is not a snapshot", "send application/octet-stream")
	}
	replace := c.q.Get("replace_state")
	body := slowBody{c.r.Body, http.NewResponseController(c.w)}
	d, err := snaps.Restore(context.WithoutCancel(c.r.Context()), body, replace, c.flag("dry_run"))
	_ = body.rc.SetReadDeadline(time.Time{})
	if !c.flag("dry_run") {
		c.audit("snapshot restore", replace, err)
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, d)
}

func takeSnapshot(c *call) error {
	snaps, err := c.snapshots()
	if err != nil {
		return err
	}
	var d api.Snapshot
	err = c.admin(func(ctx context.Context) (err error) {
		d, err = snaps.Take(ctx)
		return err
	})
	c.audit("snapshot take", d.ID, err)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, d)
}

func listSnapshots(c *call) error {
	snaps, err := c.snapshots()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	c.roleHeaders()
	list, err := snaps.List(ctx)
	if err != nil {
		return err
	}
	if list == nil {
		list = []api.Snapshot{}
	}
	for i := range list {
		if list[i].AtMillis == 0 {
			list[i].AtMillis = takenMillis(list[i].ID)
		}
	}
	return c.json(http.StatusOK, api.Snapshots{Snapshots: list})
}

// takenMillis is when a snapshot was taken, by the id that the snapshot store
// gives: TERM-INDEX-UNIX_MILLISECONDS; 0 for another.
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
