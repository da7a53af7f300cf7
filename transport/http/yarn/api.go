package yarnweb

import (
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Config configures an API. The functions may be nil.
type Config struct {
	Version   string // of the program
	Logger    hclog.Logger
	Views     *view.Source
	Reader    view.Reader
	Consensus Consensus
	// Explain returns the planner's explanation of why an application waits.
	Explain func(v *view.View, id yarn.ApplicationID) (*api.Explanation, error)
	// Reason returns YARN's sentence for why an application waits. It must be cheap, because
	// clients poll the reports that contain it.
	Reason func(st *state.State, id yarn.ApplicationID) string
	// Admin reports whether yarn.admin.acl contains a user. If it is nil, every user is an
	// administrator.
	Admin func(user string) bool
	// Groups returns the groups of a user. If it is nil, no user has groups.
	Groups func(user string) []string
	// Settings returns the properties of Hadoop's files that this replica has read, for /conf. If
	// it is nil, /conf shows only those of the replicated configuration.
	Settings func() []Setting
	// Now is the clock of this replica; nil is time.Now.
	Now func() time.Time
	// Proxied is true if this replica serves /proxy/.
	Proxied bool
}

// Consensus returns the role of this replica in Raft.
type Consensus interface{ Role() string }

// API answers the reads of Hadoop's clients, and their changes of queues.
type API struct {
	cfg Config
	log hclog.Logger
}

// New returns an API.
func New(cfg Config) *API {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &API{cfg: cfg, log: cfg.Logger}
}

// nowMillis returns the later of this replica's time and the state's, in Unix milliseconds.
func (s *API) nowMillis(v *docs) int64 { return max(s.cfg.Now().UnixMilli(), v.State.Meta.NowMillis) }

// Owns reports whether a path belongs to Hadoop's API.
func Owns(path string) bool { return strings.HasPrefix(path, wsRoot) }

// ForWebApps reports whether the web applications of Hadoop call a path.
func ForWebApps(path string) bool { return Owns(path) || path == "/conf" }

// ForService reports whether a Service must answer a request.
func ForService(r *http.Request) bool {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	ours := strings.HasPrefix(r.URL.Path, wsRoot+schedConf) && r.Method != http.MethodOptions
	return ForProxy(r) || !read && Owns(r.URL.Path) && !ours
}

// ForProxy reports whether a request is for the page of an ApplicationMaster.
func ForProxy(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, ProxyPath) }

// docs makes the documents of one view in Hadoop's format. Equal resources share a document.
type docs struct {
	*view.View
	sizes map[yarn.Resource]*shared
	zero  *shared // a map in which every kind is 0
}

// maxSizes is the largest number of resources with a shared document.
const maxSizes = 4096

func newDocs(v *view.View) *docs { return &docs{View: v, sizes: map[yarn.Resource]*shared{}} }

// docsOf returns the docs for the view of a call.
func docsOf(c *route.Call) (*docs, error) {
	v, err := c.View()
	if err != nil {
		return nil, err
	}
	return newDocs(v), nil
}
