package yarnweb

import (
	"net/http"
	"strings"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Config is what the reads need. The functions may be nil.
type Config struct {
	Version   string // of the program
	Logger    hclog.Logger
	Views     *view.Source
	Reader    view.Reader
	Consensus Consensus
	// Explain is the planner's explanation of why an application waits.
	Explain func(v *view.View, id yarn.ApplicationID) (*api.Explanation, error)
	// Reason is YARN's sentence for why an application waits, for reports that
	// clients poll: it must be cheap.
	Reason func(st *state.State, id yarn.ApplicationID) string
	// Admin says whether yarn.admin.acl names a user; nil: it names everybody.
	Admin func(user string) bool
	// Groups are a user's; nil: nobody has any.
	Groups func(user string) []string
	// Settings are the properties of Hadoop's files that this replica read, for
	// /conf; nil: those of the replicated configuration alone.
	Settings func() []Setting
	// Proxied says that this replica serves /proxy/.
	Proxied bool
}

// Consensus says who leads.
type Consensus interface{ Role() string }

// API answers the reads of Hadoop's clients, and the changes of queues.
type API struct {
	cfg Config
	log hclog.Logger
}

// New makes the API.
func New(cfg Config) *API { return &API{cfg: cfg, log: cfg.Logger} }

// Owns says whether a path is one of Hadoop's API.
func Owns(path string) bool { return strings.HasPrefix(path, wsRoot) }

// ForService says whether a request is for a Service.
func ForService(r *http.Request) bool {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	ours := strings.HasPrefix(r.URL.Path, wsRoot+schedConf) && r.Method != http.MethodOptions
	return ForProxy(r) || !read && Owns(r.URL.Path) && !ours
}

// ForProxy says whether a request is for the pages of an ApplicationMaster.
func ForProxy(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, ProxyPath) }

// docs makes the documents of one view in Hadoop's shapes. Equal amounts share one.
type docs struct {
	*view.View
	sizes map[yarn.Resource]*shared
	zero  *shared // of every kind, as a map
}

// maxSizes bounds the amounts whose documents are shared.
const maxSizes = 4096

func newDocs(v *view.View) *docs { return &docs{View: v, sizes: map[yarn.Resource]*shared{}} }

// docsOf makes the documents that a call is answered with.
func docsOf(c *route.Call) (*docs, error) {
	v, err := c.View()
	if err != nil {
		return nil, err
	}
	return newDocs(v), nil
}
