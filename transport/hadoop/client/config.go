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
	"rmd/scheduler/input"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Access checks rights by Hadoop's keys (access.Access).
type Access interface {
	// Enabled returns yarn.acl.enable.
	Enabled() bool
	// Admin reports whether a user is in yarn.admin.acl.
	Admin(user string) bool
	// Groups returns the groups of a user.
	Groups(user string) []string
}

// Queues returns facts about the queue configuration of a state. The states are shared and must not
// be changed.
type Queues interface {
	// Find returns the slot of the queue with a path, or with a short name that only one queue has.
	// It returns 0 if there is no such queue or the name is ambiguous.
	Find(st *state.State, name string) state.QueueSlot
	// Queue returns the queue in a slot. It returns false if the configuration does not have it.
	Queue(st *state.State, slot state.QueueSlot) (Queue, bool)
	// May returns the rights of a user in the queue in a slot, by the ACLs of the queue, of the
	// queues above it, and of the cluster.
	May(st *state.State, slot state.QueueSlot, user string, groups []string) (submit, administer bool)
	// Maximum returns the largest container that the configuration of the cluster allows.
	Maximum(st *state.State) yarn.Resource
	// TrackUnregistered reports whether hosts that may register and never did are LOST.
	TrackUnregistered(st *state.State) bool
	// Preprocess returns what the submission preprocessor sets for the client's host: a label, a
	// queue and an additional tag. An empty result changes nothing. It calls host only if the
	// preprocessor is enabled.
	Preprocess(st *state.State, host func() string) (label, queue, tag string)
}

// Queue is the configuration of a queue. Shares are fractions of 1.
type Queue struct {
	// Partition is the share of the nodes without a label. Labels are the shares of nodes with a
	// label.
	Partition
	Labels []Partition
	// Accessible are the labels that the queue may use. DefaultLabel is the label of requests
	// without one.
	Accessible   []string
	DefaultLabel string
	// UsedCapacity is the used share of the queue's own guarantee.
	UsedCapacity float32
	// Weight is −1 if the capacity is not a weight.
	Weight float32
	// MaxParallelApps is 2^31−1 if there is no limit.
	MaxParallelApps                        int32
	PreemptionDisabled, IntraQueueDisabled bool
	// MaxAllocation is the largest container that the configuration of the queue allows.
	MaxAllocation yarn.Resource
}

// Partition is a queue's share of the nodes with a label. An empty label means the nodes without
// one.
type Partition struct {
	Label string
	// Capacity and MaxCapacity are shares of the parent's capacity.
	Capacity, MaxCapacity float32
	// AbsoluteCapacity and AbsoluteMax are shares of all nodes of the label.
	AbsoluteCapacity, AbsoluteMax float32
	MaxAMShare                    float32
	ConfiguredMin, ConfiguredMax  yarn.Resource
	EffectiveMin, EffectiveMax    yarn.Resource
}

// Nodes returns facts that only the heartbeats of nodes contain. A replica knows them for the nodes
// connected to it.
type Nodes interface {
	Usage(id yarn.NodeID) (NodeUsage, bool)
}

// NodeUsage is the utilization in a node's last heartbeat. Containers and Node may be nil.
type NodeUsage struct {
	HealthMillis     int64 // time of the last health report, in Unix milliseconds
	Containers, Node *proto.ResourceUtilizationProto
}

// Config is the configuration of a Service.
type Config struct {
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    frontend.Reader
	Access    Access
	Queues    Queues
	// Nodes may be nil.
	Nodes Nodes
	// Why returns the reason why an accepted application waits. Reports show it as diagnostics. It
	// may be nil.
	Why func(st *state.State, id yarn.ApplicationID) string
	// Now is the clock for expiries.
	Now func() time.Time

	// WebURL is this replica's web address, http://host:port. Reports of failed attempts link to
	// the application's page there. It is empty if the replica serves no pages.
	WebURL string
	// ProxyURL is the address that serves /proxy. If it is empty, it is WebURL. If both are empty,
	// reports have no address of the proxy.
	ProxyURL string
	// NodeScheme is http or https, for the links to nodes.
	NodeScheme string

	// MaxTags, MaxTagLength and MaxTokenConf limit a submission as in YARN. MaxContext limits the
	// submission context, in bytes.
	MaxTags, MaxTagLength, MaxTokenConf, MaxContext int
	// LogAggregation is yarn.log-aggregation-enable.
	LogAggregation bool
	// OwnOnly is yarn.webapp.filter-entity-list-by-user: lists leave out applications that the
	// caller may not view.
	OwnOnly bool
	// ShortName is set where Kerberos authenticates callers. It returns the user of a principal.
	// Only callers with a ticket then get, renew and cancel delegation tokens. Reports then have the
	// token with which the caller calls the AM.
	ShortName func(principal string) (string, error)
	// Tokens is set where Kerberos authenticates callers. It returns the tokens of a submission that
	// the cluster renews, and an error if they cannot be read.
	Tokens func(sub *proto.ApplicationSubmissionContextProto) (input.AppTokens, error)
}

// DefaultConfig returns YARN's defaults. The caller must set the other fields.
func DefaultConfig() Config {
	return Config{
		Now: time.Now, NodeScheme: "http",
		MaxTags: 10, MaxTagLength: 100, MaxTokenConf: 12800, MaxContext: 2 << 20,
	}
}

// Load reads YARN's keys from configuration files. The error names every key with an invalid value.
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

// Validate returns all errors of the configuration, joined.
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
	if err := webURL(c.ProxyURL); err != nil {
		errs = append(errs, fmt.Errorf("ProxyURL: %w", err))
	}
	if c.NodeScheme != "http" && c.NodeScheme != "https" {
		errs = append(errs, fmt.Errorf("NodeScheme is %q; use http or https", c.NodeScheme))
	}
	if c.MaxTags < 0 || c.MaxTagLength < 0 || c.MaxTokenConf < 0 || c.MaxContext < 1<<10 {
		errs = append(errs,
			errors.New("bounds must not be negative, and MaxContext 1 KiB or more (start from DefaultConfig)"))
	}
	return errors.Join(errs...)
}

// webURL checks the address of pages. An empty one is valid.
func webURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || (u.Path != "" && u.Path != "/") || u.RawQuery != "" {
		return fmt.Errorf("%q is not http://HOST:PORT", text)
	}
	return nil
}
