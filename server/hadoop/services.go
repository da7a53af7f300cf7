package hadoop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/config"
	"rmd/fsm"
	"rmd/fsm/state"
	"rmd/internal/descriptors"
	"rmd/internal/hadoopconf"
	"rmd/internal/job"
	"rmd/internal/leadership"
	"rmd/internal/localaddr"
	"rmd/transport/frontend"
	ports "rmd/transport/hadoop"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/admin"
	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/client"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/launcher"
	"rmd/transport/hadoop/master"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/tracker"
	"rmd/transport/http/webapp"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// Config is what Services need from their replica.
type Config struct {
	Logger   hclog.Logger
	Settings config.Config
	Budget   *descriptors.Budget // limits the connections of everybody except the other replicas
	Jobs     *job.Registry       // has the records of the background jobs

	Submitter frontend.Submitter
	Machine   *fsm.Machine
	// Current returns when Machine has applied everything that the leader had committed at the time
	// of the call.
	Current func(ctx context.Context) error
	// Leader returns the leader, as this replica knows it.
	Leader func() leadership.Leadership
	// Reason returns YARN's text why an application waits, or "".
	Reason func(st *state.State, id yarn.ApplicationID) string
	// Listens returns the addresses of the replica's other ports.
	Listens func() []string
	// Plain and Secure are the addresses of the ports of the web pages without and with TLS. They
	// are empty if there is no such port.
	Plain, Secure string
	// Dialable returns the address under which clients reach a port of this replica.
	Dialable func(listens string) string
	// Entropy returns 32 random bytes for a key.
	Entropy func() []byte
	// Observe is called after each call. protocol is the last part of the protocol's name without
	// "PB".
	Observe func(protocol, method, code string, took time.Duration)
	// Handshake is called after each authentication by a token or a ticket, and after each that is
	// refused. It may be nil.
	Handshake func(method, outcome string)
}

// Services are what serves Hadoop's programs: the services behind the four ports, the launcher, and what
// they share.
type Services struct {
	cfg    Config
	conf   *hadoopconf.Config
	files  *files
	access *access.Access
	read   Reader
	names  *token.Services
	// security is how the ports authenticate callers.
	security ports.Security

	tracker  *tracker.Service
	master   *master.Service
	client   *client.Service
	admin    *admin.Service
	web      *yarnweb.Service
	caller   *ipc.Client
	launcher *launcher.Launcher
	ports    atomic.Pointer[ports.Ports] // nil until the ports are open: other replicas ask before
	leads    chan leadership.Leadership
	tokens   *tokens // nil without Kerberos
	webApps  []*webapp.App
}

// Open reads Hadoop's files and creates the services. The caller calls Listen when the rest of the
// replica is ready.
func Open(cfg Config) (*Services, error) {
	dir := cfg.Settings.HadoopConfDir
	conf, err := hadoopconf.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("hadoop's files: %w", err)
	}
	f := &Services{cfg: cfg, conf: conf, read: NewReader(cfg.Machine, cfg.Current),
		leads: make(chan leadership.Leadership, 16)}
	f.names = token.NewServices(conf.Value("hadoop.security.token.service.use_ip", "true") != "false", nil)
	owner := ""
	if u, err := user.Current(); err == nil {
		owner = u.Username
	}
	if f.access, err = access.New(conf, access.NewGroups(f.logger("groups"), cfg.Jobs.Job(job.Groups)),
		owner); err != nil {
		return nil, fmt.Errorf("hadoop's files: %w", err)
	}
	f.files = &files{dir: dir, owner: owner, access: f.access, conf: conf, authorizes: access.Authorizes(conf)}
	if f.security, err = f.readSecurity(); err != nil {
		return nil, fmt.Errorf("hadoop's files: %w", err)
	}
	if err := f.files.loadServices(); err != nil {
		return nil, fmt.Errorf("hadoop's files: %w", err)
	}
	for _, step := range []func() error{f.openTracker, f.openApplicationMaster, f.openTokens, f.openClient, f.openAdmin,
		f.openWeb, f.openWebApps, f.openLauncher} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("hadoop: %w", errors.Join(err, f.Close()))
		}
	}
	return f, nil
}

// readSecurity reads how the ports authenticate callers. A witness has no ports, and so no principal.
func (f *Services) readSecurity() (ports.Security, error) {
	if !f.cfg.Settings.HadoopPorts {
		return ports.SecurityToNodes(f.conf)
	}
	return ports.SecurityOf(f.conf, f.cfg.Settings.ID, f.shortName, f.logger("kerberos"))
}

// HeartbeatInterval returns the interval between heartbeats that nodes are told, by the files in a
// directory.
func HeartbeatInterval(dir string) (time.Duration, error) {
	conf, err := hadoopconf.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("hadoop's files: %w", err)
	}
	c, err := tracker.ConfigOf(conf)
	return c.HeartbeatInterval, err
}

// Web returns the service for /proxy/ and for the writes under /ws/v1/cluster.
func (f *Services) Web() *yarnweb.Service { return f.web }

// Groups returns the groups of a user on this machine.
func (f *Services) Groups(user string) []string { return f.access.Groups(user) }

// NamedQueue returns the queue that a submission's context names. It returns "" if the context has
// none or is unreadable.
func NamedQueue(context string) string {
	sub := new(proto.ApplicationSubmissionContextProto)
	if len(context) == 0 || bounded.Unmarshal([]byte(context), sub) != nil {
		return ""
	}
	return sub.GetQueue()
}

// ShortName returns the short name of a Kerberos principal by hadoop.security.auth_to_local, and the
// number and the text of the rule that decided.
func (f *Services) ShortName(principal string) (short string, rule int, text string, err error) {
	short, by, err := f.access.ShortName(principal)
	return short, by.Number, by.Text, err
}

func (f *Services) shortName(principal string) (string, error) {
	short, _, err := f.access.ShortName(principal)
	return short, err
}

// Admin reports whether a user is an administrator of YARN.
func (f *Services) Admin(user string) bool { return f.access.Admin(user) }

// Settings returns the keys of Hadoop's files as read last.
func (f *Services) Settings() []yarnweb.Setting { return f.files.settings() }

// Reload reads again the parts of Hadoop's files that may change while the replica runs:
// administrators, proxy users, groups and racks. The queues do not change, because they are
// replicated.
func (f *Services) Reload() error { return f.files.Reload() }

func (f *Services) logger(name string) hclog.Logger { return f.cfg.Logger.Named(name) }

func (f *Services) openTracker() error {
	c, err := tracker.ConfigOf(f.conf)
	if err != nil {
		return err
	}
	racks := tracker.RacksConfigOf(f.conf)
	racks.Logger, racks.Job = f.logger("racks"), f.cfg.Jobs.Job(job.Racks)
	topology, err := tracker.NewTopology(racks)
	if err != nil {
		return err
	}
	f.files.racks = topology
	c.Logger, c.Submitter, c.Reader, c.Racks = f.logger("tracker"), f.cfg.Submitter, f.read,
		resolvingRacks{topology, f.names}
	f.tracker, err = tracker.New(c)
	return err
}

// resolvingRacks resolves the address of a host, which tokens need, when the rack of the host is
// resolved. That happens when one of its nodes registers.
type resolvingRacks struct {
	racks tracker.Racks
	names *token.Services
}

// Rack implements tracker.Racks.
func (n resolvingRacks) Rack(ctx context.Context, host string) string {
	_ = n.names.Learn(ctx, host) // on an error, tokens contain the name
	return n.racks.Rack(ctx, host)
}

func (f *Services) openApplicationMaster() error {
	c := master.DefaultConfig()
	c.Logger, c.Submitter, c.Reader, c.Services = f.logger("scheduler"), f.cfg.Submitter, f.read, f.names
	c.Maximum = new(queueView).maximumIn
	if f.security.Kerberos != nil {
		c.Entropy = f.cfg.Entropy
	}
	c.ContainerExpiry = millis(f.conf, "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
		c.ContainerExpiry)
	var err error
	f.master, err = master.New(c)
	return err
}

func (f *Services) openClient() error {
	c := client.DefaultConfig()
	if err := c.Load(f.conf); err != nil {
		return err
	}
	c.Logger, c.Submitter, c.Reader, c.Access = f.logger("client"), f.cfg.Submitter, f.read, f.access
	c.Queues, c.Nodes, c.Why = new(queueView), nodeUsage{f.tracker}, f.cfg.Reason
	c.WebURL = webURL(f.conf, f.cfg)
	if f.security.Kerberos != nil {
		c.ShortName = f.shortName
	}
	if f.tokens != nil {
		c.Tokens = f.tokens.policy.Of
	}
	var err error
	f.client, err = client.New(c)
	return err
}

// webURL returns the address under which clients open this replica's pages: that in Hadoop's files,
// or else that of the port. It has https if only TLS is served, or if yarn.http.policy asks for it.
// It is empty if no pages are served.
func webURL(conf *hadoopconf.Config, cfg Config) string {
	scheme, key, listens := "http://", "yarn.resourcemanager.webapp.address", cfg.Plain
	if cfg.Secure != "" && (cfg.Plain == "" || conf.Value("yarn.http.policy", "") == "HTTPS_ONLY") {
		scheme, key, listens = "https://", "yarn.resourcemanager.webapp.https.address", cfg.Secure
	}
	if listens == "" {
		return ""
	}
	for _, name := range []string{key + "." + cfg.Settings.ID, key} {
		if v := strings.TrimSpace(conf.Value(name, "")); v != "" && !strings.Contains(v, "${") {
			return scheme + cfg.Dialable(v)
		}
	}
	return scheme + cfg.Dialable(listens)
}

// nodeUsage returns the utilization that nodes report to this replica.
type nodeUsage struct{ t *tracker.Service }

// Usage implements client.Nodes.
func (n nodeUsage) Usage(id yarn.NodeID) (client.NodeUsage, bool) {
	u, ok := n.t.Utilization(id)
	if !ok {
		return client.NodeUsage{}, false
	}
	return client.NodeUsage{HealthMillis: time.Now().Add(-u.Age).UnixMilli(), Containers: utilization(u.Containers),
		Node: utilization(u.Node)}, true
}

func utilization(u tracker.Usage) *proto.ResourceUtilizationProto {
	return &proto.ResourceUtilizationProto{Pmem: &u.MemoryMB, Vmem: &u.VirtualMB, Cpu: &u.CPU}
}

func (f *Services) openAdmin() error {
	c := admin.DefaultConfig()
	c.Logger, c.ID, c.Submitter, c.Reader, c.Files = f.logger("admin"), f.cfg.Settings.ID, f.cfg.Submitter, f.read, f.files
	c.Admit, c.Groups, c.Leader, c.Unhealthy = f.access.Admit, f.access.Groups, f.leader, f.cfg.Machine.Failure
	c.Authorization = f.files.authorizes
	if n, err := strconv.ParseInt(f.conf.Value("yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs", ""),
		10, 32); err == nil {
		c.GracefulTime = max(time.Duration(n)*time.Second, 0) // a negative time means no limit
	}
	if f.cfg.Settings.Standby == "refuse" {
		c.Standby = func() error {
			if err := f.standby(); err != nil {
				return ipc.Standby(err.Error())
			}
			return nil
		}
	}
	var err error
	f.admin, err = admin.New(c)
	return err
}

func (f *Services) openWeb() error {
	allow, err := f.cfg.Settings.HTTP.ProxyNetworks()
	if err != nil {
		return err
	}
	f.web, err = yarnweb.NewService(yarnweb.ServiceConfig{Logger: f.logger("web"), Reader: f.read, Client: f.client,
		Admin: f.admin, Own: f.isOwnPort, Allow: allow,
		Bound: func(dial yarnweb.Dial) yarnweb.Dial { return f.cfg.Budget.Dialer("proxy", dial) }})
	return err
}

// isOwnPort reports whether an address is one of this replica's own ports.
func (f *Services) isOwnPort(at netip.AddrPort) bool {
	listens := f.cfg.Listens()
	if open := f.ports.Load(); open != nil {
		for _, a := range open.Addrs() {
			listens = append(listens, a.String())
		}
	}
	port := strconv.Itoa(int(at.Port()))
	if !slices.ContainsFunc(listens, func(l string) bool { return strings.HasSuffix(l, ":"+port) }) {
		return false
	}
	here, err := localaddr.Interfaces()
	return err != nil || at.Addr().IsUnspecified() || here.Has(at.Addr())
}

func (f *Services) openLauncher() error {
	var err error
	k := ipc.DefaultClientConfig()
	k.Logger, k.Dial = f.logger("nodes"), f.cfg.Budget.Dialer("nodes", new(net.Dialer).DialContext)
	k.Protection = f.security.Protection
	if f.caller, err = ipc.OpenClient(k); err != nil {
		return err
	}
	c := launcher.DefaultConfig()
	c.Logger, c.Submitter, c.Reader, c.Client, c.Services = f.logger("launcher"), f.cfg.Submitter, f.read,
		f.caller, f.names
	c.Job = f.cfg.Jobs.Job(job.Launcher)
	c.MaxWait = millis(f.conf, "yarn.client.nodemanager-connect.max-wait-ms", c.MaxWait)
	c.RetryInterval = millis(f.conf, "yarn.client.nodemanager-connect.retry-interval-ms", c.RetryInterval)
	c.TokenLife = millis(f.conf, "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms", c.TokenLife)
	if n, err := strconv.Atoi(f.conf.Value("yarn.resourcemanager.amlauncher.thread-count", "")); err == nil {
		c.ParallelMax = n
	}
	f.launcher, err = launcher.New(c)
	return err
}

// millis returns the value of a key in milliseconds, or def if the value is not a number.
func millis(conf *hadoopconf.Config, key string, def time.Duration) time.Duration {
	n, err := strconv.ParseInt(conf.Value(key, ""), 10, 48)
	if err != nil {
		return def
	}
	return time.Duration(n) * time.Millisecond
}

// leader reports whether this replica leads, and whether any replica does.
func (f *Services) leader() (here, known bool) {
	l := f.cfg.Leader()
	return l.IsLeader, l.LeaderID != ""
}

// Listen opens the four ports, unless this replica is a witness.
func (f *Services) Listen() error {
	if !f.cfg.Settings.HadoopPorts {
		f.cfg.Logger.Info("this replica is a witness: YARN's ports stay closed")
		return nil
	}
	at, err := ports.AddressesOf(f.conf, f.cfg.Settings.ID)
	if err != nil {
		return err
	}
	c := ports.Config{
		Logger: f.cfg.Logger, Addresses: at,
		Client:         ports.Port{Protocols: []ipc.Protocol{f.client.Protocol()}, Password: f.client.Password},
		Scheduler:      ports.Port{Protocols: []ipc.Protocol{f.master.Protocol()}, Password: f.master.Password},
		Tracker:        ports.Port{Protocols: []ipc.Protocol{f.tracker.Protocol()}},
		Admin:          ports.Port{Protocols: f.admin.Protocols()},
		MayImpersonate: f.access.MayImpersonate,
		Security:       f.security,
		Observe:        ipc.Observe{Call: f.observe, Handshake: f.cfg.Handshake},
		ConnsMax:       int(f.cfg.Settings.Connections),
		Bound:          f.cfg.Budget.Listen,
	}
	c.ConnsPerAddressMax = int(f.cfg.Settings.ConnectionsPerAddress)
	if n, err := strconv.Atoi(f.conf.Value("ipc.maximum.data.length", "")); err == nil {
		c.FrameMax = n
	}
	if f.files.authorizes {
		c.Authorize = f.access.Authorize
	}
	if f.cfg.Settings.Standby == "refuse" {
		c.Standby = f.standby
	}
	front, err := ports.Open(c)
	if err != nil {
		return err
	}
	f.ports.Store(front)
	addrs := front.Addrs()
	f.cfg.Logger.Info("hadoop's ports are open", "client", addrs[0], "scheduler", addrs[1], "tracker", addrs[2],
		"admin", addrs[3])
	return nil
}

// Run runs the background work of the tracker and the launcher until the context ends.
func (f *Services) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { f.tracker.Run(ctx) })
	wg.Go(func() { _ = f.launcher.Run(ctx, f.leads) }) // it returns when the context ends
	if f.tokens != nil {
		wg.Go(func() { f.tokens.renewer.Run(ctx, f.tokens.leads) })
	}
	wg.Wait()
}

// standby returns an error while this replica does not lead.
func (f *Services) standby() error {
	if here, _ := f.leader(); here {
		return nil
	}
	//lint:ignore ST1005 YARN's words
	return fmt.Errorf("ResourceManager %s is not Active!", f.cfg.Settings.ID)
}

// observe shortens the protocol's name and calls Config.Observe.
func (f *Services) observe(protocol, method, code string, took time.Duration) {
	name := protocol[strings.LastIndexByte(protocol, '.')+1:]
	f.cfg.Observe(strings.TrimSuffix(name, "PB"), method, code, took)
}

// Follow passes a change of leadership to the launcher and the renewer.
func (f *Services) Follow(ctx context.Context, l leadership.Leadership) {
	all := []chan leadership.Leadership{f.leads}
	if f.tokens != nil {
		all = append(all, f.tokens.leads)
	}
	for _, leads := range all {
		select {
		case leads <- l:
		case <-ctx.Done():
			return
		}
	}
}

// Close closes the ports. The background work ends with the context of Run.
func (f *Services) Close() error {
	var errs []error
	if open := f.ports.Load(); open != nil {
		errs = append(errs, open.Close())
	}
	if f.caller != nil {
		errs = append(errs, f.caller.Close())
	}
	if f.tokens != nil {
		errs = append(errs, f.tokens.services.Close())
	}
	if f.web != nil {
		f.web.Close()
	}
	for _, a := range f.webApps {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}
