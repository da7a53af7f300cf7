package client

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Access answers who may do what by Hadoop's keys (access.Access).
type Access interface {
	// Enabled is yarn.acl.enable.
	Enabled() bool
	// Admin says whether yarn.admin.acl names a user.
	Admin(user string) bool
	// Groups are a user's.
	Groups(user string) []string
}

// Queues shows what the queue configuration of a state means for its cluster.
// The states are shared and must not be changed.
type Queues interface {
	// Find returns the slot of the queue with a path, or with a short name that
	// only one queue has; 0 when there is none, or when the name is ambiguous.
	Find(st *state.State, name string) uint32
	// Queue shows the queue in a slot; false when the configuration lacks it.
	Queue(st *state.State, slot uint32) (Queue, bool)
	// May says what the lists of the queue in a slot, those above it, and the
	// cluster's administrators let a user do.
	May(st *state.State, slot uint32, user string, groups []string) (submit, administer bool)
	// Maximum is the largest container that the cluster's configuration allows.
	Maximum(st *state.State) yarn.Resource
	// Preprocess says what a submission gets by the name of its client's host, which is asked for only
	// if that matters: a label, a queue and a further tag. What is empty stays as it is.
	Preprocess(st *state.State, host func() string) (label, queue, tag string)
}

// Queue is what a queue's configuration means. Shares are fractions of one.
type Queue struct {
	// Partition is what the queue has of the nodes without a label, Labels of those with one.
	Partition
	Labels []Partition
	// Accessible are the labels that the queue may use, DefaultLabel is that of asks that name none.
	Accessible   []string
	DefaultLabel string
	// UsedCapacity is a share of the queue's own guarantee.
	UsedCapacity float32
	// Weight is −1 when the capacity is not given by weight.
	Weight float32
	// MaxParallelApps is 2^31−1 when there is no bound.
	MaxParallelApps                        int32
	PreemptionDisabled, IntraQueueDisabled bool
	// MaxAllocation is the largest container of the queue.
	MaxAllocation yarn.Resource
}

// Partition is what a queue has of the nodes of a label; an empty one stands for those without.
type Partition struct {
	Label string
	// Capacity and MaxCapacity are shares of the parent's.
	Capacity, MaxCapacity float32
	// AbsoluteCapacity and AbsoluteMax are shares of all nodes of the label.
	AbsoluteCapacity, AbsoluteMax float32
	MaxAMShare                    float32
	ConfiguredMin, ConfiguredMax  yarn.Resource
	EffectiveMin, EffectiveMax    yarn.Resource
}

// Nodes tells of a node what only its heartbeats say; a replica knows it of the
// nodes that are connected to it.
type Nodes interface {
	Usage(id yarn.NodeID) (NodeUsage, bool)
}

// NodeUsage is a node's last heartbeat. The utilizations may be nil.
type NodeUsage struct {
	HealthMillis     int64 // when its health was last told, Unix
	Containers, Node *proto.ResourceUtilizationProto
}

// Config is what the Service needs, and YARN's keys that it follows.
type Config struct {
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    frontend.Reader
	Access    Access
	Queues    Queues
	// Nodes may be nil.
	Nodes Nodes
	// Why says why an accepted application waits; it is told as the diagnostics
	// of a report. Nil says nothing.
	Why func(st *state.State, id yarn.ApplicationID) string
	// Now is the clock that expiries are compared with.
	Now func() time.Time

	// WebURL is this replica's web address, http://host:port. Applications that
	// have failed are shown under it.
	WebURL string
	// ProxyURL is where /proxy is served; empty: at WebURL.
	ProxyURL string
	// NodeScheme is http or https, for the links to nodes.
	NodeScheme string

	// MaxTags, MaxTagLength and MaxTokenConf bound a submission as YARN does,
	// MaxContext bounds the bytes of the whole.
	MaxTags, MaxTagLength, MaxTokenConf, MaxContext int
	// LogAggregation is yarn.log-aggregation-enable.
	LogAggregation bool
	// OwnOnly is yarn.webapp.filter-entity-list-by-user: lists leave out what the
	// caller may not see.
	OwnOnly bool
}

// DefaultConfig is YARN's; what the Service talks to is the caller's.
func DefaultConfig() Config {
	return Config{
		Now: time.Now, NodeScheme: "http",
		MaxTags: 10, MaxTagLength: 100, MaxTokenConf: 12800, MaxContext: 2 << 20,
	}
}

// Load takes YARN's keys from configuration files. An error names the key.
func (c *Config) Load(conf *hadoopconf.Config) error {
	var errs []error
	number := func(to *int, key string) {
		p, ok := conf.Get(key)
		if !ok {
			return
		}
		n, err := strconv.Atoi(p.Value)
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("%s: %q is no count", key, p.Value))
			return
		}
		*to = n
	}
	number(&c.MaxTags, "yarn.resourcemanager.application.max-tags")
	number(&c.MaxTagLength, "yarn.resourcemanager.application.max-tag.length")
	number(&c.MaxTokenConf, tokenConfKey)
	c.LogAggregation = conf.Value("yarn.log-aggregation-enable", "false") == "true"
	c.OwnOnly = conf.Value("yarn.webapp.filter-entity-list-by-user", "false") == "true"
	c.NodeScheme = "http"
	if conf.Value("yarn.http.policy", "HTTP_ONLY") == "HTTPS_ONLY" {
		c.NodeScheme = "https"
	}
	if proxy := conf.Value("yarn.web-proxy.address", ""); proxy != "" {
		c.ProxyURL = c.NodeScheme + "://" + proxy
	}
	return errors.Join(errs...)
}

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	var errs []error
	if c.Logger == nil || c.Submitter == nil || c.Reader == nil || c.Access == nil || c.Queues == nil {
		errs = append(errs, errors.New("logger, submitter, reader, access and queues are required"))
	}
	if c.Now == nil {
		errs = append(errs, errors.New("the clock is required (start from DefaultConfig)"))
	}
	if err := webURL(c.WebURL); err != nil {
		errs = append(errs, fmt.Errorf("WebURL: %w", err))
	}
	if c.ProxyURL != "" {
		if err := webURL(c.ProxyURL); err != nil {
			errs = append(errs, fmt.Errorf("ProxyURL: %w", err))
		}
	}
	if c.NodeScheme != "http" && c.NodeScheme != "https" {
		errs = append(errs, fmt.Errorf("NodeScheme is %q; use http or https", c.NodeScheme))
	}
	if c.MaxTags < 0 || c.MaxTagLength < 0 || c.MaxTokenConf < 0 || c.MaxContext < 1<<10 {
		errs = append(errs, errors.New("bounds must not be negative, and MaxContext 1 KiB or more (start from DefaultConfig)"))
	}
	return errors.Join(errs...)
}

func webURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || (u.Path != "" && u.Path != "/") || u.RawQuery != "" {
		return fmt.Errorf("%q is not http://HOST:PORT", text)
	}
	return nil
}
