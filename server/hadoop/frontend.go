package server

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
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/cluster"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/admin"
	"rmd/transport/hadoop/client"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/launcher"
	"rmd/transport/hadoop/master"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/tracker"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// hadoopFrontend is what Hadoop's programs meet of this replica: the services behind the four
// ports, the launcher, and what they share.
type hadoopFrontend struct {
	r      *Replica
	conf   *hadoopconf.Config
	files  *hadoopFiles
	access *access.Access
	read   hadoopReader
	names  *token.Services

	tracker  *tracker.Service
	master   *master.Service
	client   *client.Service
	admin    *admin.Service
	web      *yarnweb.Service
	caller   *ipc.Client
	launcher *launcher.Launcher
	front    *hadoop.Front
	leads    chan cluster.Leadership
}

// openHadoop makes Hadoop's frontend when a directory with Hadoop's files is
// configured. Its ports open last, when everything behind them is there.
func (r *Replica) openHadoop() error {
	if r.opt.Config.Hadoop == "" {
		return nil
	}
	conf, err := hadoopconf.ReadDir(r.opt.Config.Hadoop)
	if err != nil {
		return fmt.Errorf("hadoop's files: %w", err)
	}
	d := &hadoopFrontend{r: r, conf: conf, read: hadoopReader{r}, leads: make(chan cluster.Leadership, 16)}
	d.names = token.NewServices(conf.Value("hadoop.security.token.service.use_ip", "true") != "false", nil)
	owner := ""
	if u, err := user.Current(); err == nil {
		owner = u.Username
	}
	d.access = access.New(conf, access.NewGroups(), owner)
	d.files = &hadoopFiles{dir: r.opt.Config.Hadoop, owner: owner, access: d.access, conf: conf}
	for _, step := range []func() error{d.openTracker, d.openMaster, d.openClient, d.openAdmin, d.openWeb, d.openLauncher} {
		if err := step(); err != nil {
			return fmt.Errorf("hadoop: %w", err)
		}
	}
	r.hadoop = d
	return nil
}

func (d *hadoopFrontend) logger(name string) hclog.Logger { return d.r.log.Named("hadoop").Named(name) }

func (d *hadoopFrontend) openTracker() error {
	c, err := tracker.ConfigOf(d.conf)
	if err != nil {
		return err
	}
	racks := tracker.RacksConfigOf(d.conf)
	racks.Logger = d.logger("racks")
	topology, err := tracker.NewTopology(racks)
	if err != nil {
		return err
	}
	d.files.racks = topology
	c.Logger, c.Submitter, c.Reader, c.Racks = d.logger("tracker"), d.r.forwarder, d.read, resolvingRacks{topology, d.names}
	d.tracker, err = tracker.New(c)
	return err
}

// resolvingRacks learns the address of a host, for tokens, where its rack is asked
// for: when one of its nodes registers.
type resolvingRacks struct {
	racks tracker.Racks
	names *token.Services
}

// Rack implements tracker.Racks.
func (n resolvingRacks) Rack(ctx context.Context, host string) string {
	_ = n.names.Learn(ctx, host) // else tokens carry the name
	return n.racks.Rack(ctx, host)
}

func (d *hadoopFrontend) openMaster() error {
	c := master.DefaultConfig()
	c.Logger, c.Submitter, c.Reader, c.Services = d.logger("scheduler"), d.r.forwarder, d.read, d.names
	c.ContainerExpiry = millis(d.conf, "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms", c.ContainerExpiry)
	var err error
	d.master, err = master.New(c)
	return err
}

func (d *hadoopFrontend) openClient() error {
	c := client.DefaultConfig()
	if err := c.Load(d.conf); err != nil {
		return err
	}
	c.Logger, c.Submitter, c.Reader, c.Access = d.logger("client"), d.r.forwarder, d.read, d.access
	c.Queues, c.Nodes, c.Why = new(queueView), nodeUsage{d.tracker}, d.r.reasons.of
	c.WebURL = d.webURL()
	var err error
	d.client, err = client.New(c)
	return err
}

// webURL is this replica's web address as Hadoop's files name it, else as it
// listens.
func (d *hadoopFrontend) webURL() string {
	const key = "yarn.resourcemanager.webapp.address"
	for _, name := range []string{key + "." + d.r.ID(), key} {
		if v := d.conf.Value(name, ""); v != "" {
			return "http://" + v
		}
	}
	return "http://" + d.r.opt.Config.HTTP.Listen
}

// nodeUsage shows what the nodes connected to this replica say of themselves.
type nodeUsage struct{ t *tracker.Service }

// Usage implements client.Nodes.
func (n nodeUsage) Usage(id yarn.NodeID) (client.NodeUsage, bool) {
	u, ok := n.t.Utilization(id)
	if !ok {
		return client.NodeUsage{}, false
	}
	return client.NodeUsage{HealthMillis: time.Now().Add(-u.Age).UnixMilli(), Containers: utilization(u.Containers), Node: utilization(u.Node)}, true
}

func utilization(u tracker.Usage) *proto.ResourceUtilizationProto {
	return &proto.ResourceUtilizationProto{Pmem: &u.MemoryMB, Vmem: &u.VirtualMB, Cpu: &u.CPU}
}

func (d *hadoopFrontend) openAdmin() error {
	c := admin.DefaultConfig()
	c.Logger, c.ID, c.Submitter, c.Reader, c.Files = d.logger("admin"), d.r.ID(), d.r.forwarder, d.read, d.files
	c.Admit, c.Groups, c.Leader, c.Unhealthy = d.access.Admit, d.access.Groups, d.leader, d.r.machine.Failure
	c.Authorization = strings.EqualFold(d.conf.Value("hadoop.security.authorization", "false"), "true")
	if n, err := strconv.ParseInt(d.conf.Value("yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs", ""), 10, 32); err == nil {
		c.GracefulTime = max(time.Duration(n)*time.Second, 0) // below 0 is without end
	}
	if d.r.opt.Config.Standby == "refuse" {
		c.Standby = func() error {
			if err := d.standby(); err != nil {
				return ipc.Standby(err.Error())
			}
			return nil
		}
	}
	var err error
	d.admin, err = admin.New(c)
	return err
}

func (d *hadoopFrontend) openWeb() error {
	allow, err := d.r.opt.Config.HTTP.ProxyNetworks()
	if err != nil {
		return err
	}
	d.web, err = yarnweb.NewService(yarnweb.ServiceConfig{Logger: d.logger("web"), Reader: d.read, Client: d.client, Own: d.own, Allow: allow,
		Bound: func(dial yarnweb.Dial) yarnweb.Dial { return d.r.budget.Dialer("proxy", dial) }})
	return err
}

// own says whether an address is one of this replica's own ports.
func (d *hadoopFrontend) own(at netip.AddrPort) bool {
	listens := []string{d.r.PeerAddr()}
	for _, l := range d.r.http {
		listens = append(listens, l.Addr().String())
	}
	if d.front != nil {
		for _, a := range d.front.Addrs() {
			listens = append(listens, a.String())
		}
	}
	port := strconv.Itoa(int(at.Port()))
	if !slices.ContainsFunc(listens, func(l string) bool { return strings.HasSuffix(l, ":"+port) }) {
		return false
	}
	if at.Addr().IsLoopback() || at.Addr().IsUnspecified() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(addrs, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == at.Addr()
	})
}

func (d *hadoopFrontend) openLauncher() error {
	var err error
	k := ipc.DefaultClientConfig()
	k.Logger, k.Dial = d.logger("nodes"), d.r.budget.Dialer("nodes", new(net.Dialer).DialContext)
	if d.caller, err = ipc.OpenClient(k); err != nil {
		return err
	}
	c := launcher.DefaultConfig()
	c.Logger, c.Submitter, c.Reader, c.Client, c.Services = d.logger("launcher"), d.r.forwarder, d.read, d.caller, d.names
	c.MaxWait = millis(d.conf, "yarn.client.nodemanager-connect.max-wait-ms", c.MaxWait)
	c.RetryInterval = millis(d.conf, "yarn.client.nodemanager-connect.retry-interval-ms", c.RetryInterval)
	c.TokenLife = millis(d.conf, "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms", c.TokenLife)
	if n, err := strconv.Atoi(d.conf.Value("yarn.resourcemanager.amlauncher.thread-count", "")); err == nil {
		c.ParallelMax = n
	}
	d.launcher, err = launcher.New(c)
	return err
}

// millis reads a key of milliseconds; what is not a number is the default.
func millis(conf *hadoopconf.Config, key string, def time.Duration) time.Duration {
	n, err := strconv.ParseInt(conf.Value(key, ""), 10, 48)
	if err != nil {
		return def
	}
	return time.Duration(n) * time.Millisecond
}

// leader says whether this replica leads, and whether any does.
func (d *hadoopFrontend) leader() (here, known bool) {
	l, _ := d.r.tracker.Leader()
	return l.IsLeader, l.LeaderID != ""
}

// serve opens the ports and runs what runs beside them.
func (d *hadoopFrontend) serve() error {
	at, err := hadoop.AddressesOf(d.conf, d.r.ID())
	if err != nil {
		return err
	}
	c := hadoop.Config{
		Logger: d.r.log.Named("hadoop"), Addresses: at,
		Client:         hadoop.Port{Protocols: []ipc.Protocol{d.client.Protocol()}, Password: d.client.Password},
		Scheduler:      hadoop.Port{Protocols: []ipc.Protocol{d.master.Protocol()}, Password: d.master.Password},
		Tracker:        hadoop.Port{Protocols: []ipc.Protocol{d.tracker.Protocol()}},
		Admin:          hadoop.Port{Protocols: d.admin.Protocols()},
		MayImpersonate: d.access.MayImpersonate,
		Observe:        ipc.Observe{Call: d.observe},
		ConnsMax:       int(d.r.opt.Config.Callers),
		Bound:          d.r.budget.Listen,
	}
	c.ConnsPerAddressMax = int(d.r.opt.Config.CallerMax)
	if n, err := strconv.Atoi(d.conf.Value("ipc.maximum.data.length", "")); err == nil {
		c.FrameMax = n
	}
	if d.r.opt.Config.Standby == "refuse" {
		c.Standby = d.standby
	}
	if d.front, err = hadoop.Open(c); err != nil {
		return err
	}
	d.r.wg.Go(func() { d.tracker.Run(d.r.ctx) })
	d.r.wg.Go(func() { _ = d.launcher.Run(d.r.ctx, d.leads) }) // it ends with the context
	addrs := d.front.Addrs()
	d.r.log.Info("hadoop's ports are open", "client", addrs[0], "scheduler", addrs[1], "tracker", addrs[2], "admin", addrs[3])
	return nil
}

// standby refuses while this replica does not lead.
func (d *hadoopFrontend) standby() error {
	if here, _ := d.leader(); here {
		return nil
	}
	//lint:ignore ST1005 YARN's words
	return fmt.Errorf("ResourceManager %s is not Active!", d.r.ID())
}

// observe counts a call under the last part of its protocol's name.
func (d *hadoopFrontend) observe(protocol, method, code string, took time.Duration) {
	name := protocol[strings.LastIndexByte(protocol, '.')+1:]
	d.r.metrics.ObserveIPC(strings.TrimSuffix(name, "PB"), method, code, took)
}

// follow tells the launcher who leads.
func (d *hadoopFrontend) follow(l cluster.Leadership) {
	select {
	case d.leads <- l:
	case <-d.r.ctx.Done():
	}
}

// ReloadHadoop reads again what may change of Hadoop's files while the replica
// runs: who may administer and act for whom, groups, and racks. The queues stay:
// they are replicated.
func (r *Replica) ReloadHadoop() error {
	if r.hadoop == nil {
		return nil
	}
	return r.hadoop.files.Reload()
}

// close ends the ports; what runs beside them ends with the replica's context.
func (d *hadoopFrontend) close() error {
	var errs []error
	if d.front != nil {
		errs = append(errs, d.front.Close())
	}
	if d.caller != nil {
		errs = append(errs, d.caller.Close())
	}
	if d.web != nil {
		d.web.Close()
	}
	return errors.Join(errs...)
}

// hadoopReader reads the committed state for Hadoop's ports.
type hadoopReader struct{ r *Replica }

// Fork is shared and must not be changed.
func (h hadoopReader) Fork() *state.State {
	st, _ := h.r.machine.Fork()
	return st
}

// currentPause is the time between two questions for the leader's commit index
// while there is no leader.
const currentPause = 20 * time.Millisecond

// Current implements the readers of YARN's ports.
func (h hadoopReader) Current(ctx context.Context) error { return h.r.current(ctx) }

// current returns once this replica has applied what the leader had committed at
// the time of the call. While there is no leader it waits, for as long as calls
// are held.
func (r *Replica) current(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(r.opt.Config.Hold, time.Second))
	defer cancel()
	for {
		index, err := r.cluster.ReadIndex(ctx)
		if err == nil {
			return r.machine.WaitApplied(ctx, index)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errNoLeaderKnown, err)
		case <-time.After(currentPause):
		}
	}
}

// noLeaderError is the error of a read that found no leader in time.
type noLeaderError struct{}

func (noLeaderError) Error() string     { return "no leader is known at the moment" }
func (noLeaderError) ErrorCode() string { return "STANDBY" }

var errNoLeaderKnown error = noLeaderError{}

// Watch follows the AM containers of the committed state.
func (h hadoopReader) Watch() (launcher.Watch, error) {
	s, err := h.r.machine.Watch(0)
	if err != nil {
		return nil, err
	}
	return masterWatch{s}, nil
}

// masterWatch passes over what cannot concern an AM container.
type masterWatch struct{ s *fsm.Subscription }

// Next implements launcher.Watch.
func (w masterWatch) Next(ctx context.Context) error {
	for {
		b, err := w.s.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range b.Events {
			switch e := e.(type) {
			case *event.ContainerAllocated:
				if e.AM {
					return nil
				}
			case *event.ReservationFulfilled, *event.AttemptEnded, *event.AttemptLaunched, *event.NodeRegistered:
				return nil
			}
		}
	}
}
