package yarnweb

import (
	"math"
	"net/http"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// hadoopVersion is the version whose formats the API has. Clients compare it.
const hadoopVersion = "3.4.2"

// Routes returns all endpoints.
func (s *API) Routes() []route.Route {
	ws := func(path string, h route.Handler) route.Route { return route.Plain(wsRoot+path, h) }
	return append(s.schedConfRoutes(),
		route.Plain("/isActive", s.isActive), route.Plain("/jmx", s.jmx), route.Plain("/conf", s.showSettings),
		route.Plain("/logLevel", s.logLevel),
		ws("", s.wsInfo), ws("/info", s.wsInfo), ws("/metrics", s.wsMetrics), ws("/scheduler", s.wsScheduler),
		ws("/scheduler-overview", s.wsOverview),
		ws("/nodes", s.wsNodes), ws("/nodes/{id}", s.wsNode), ws("/nodes/{id}/get-labels", s.wsNodeLabels),
		ws("/apps", s.wsApps), ws("/apps/{id}", s.wsOfApp(s.wsApp)), ws("/apps/{id}/state", s.wsOfApp(s.wsAppState)),
		ws("/apps/{id}/priority", s.wsOfApp(s.wsAppPriority)), ws("/apps/{id}/queue", s.wsOfApp(s.wsAppQueue)),
		ws("/apps/{id}/timeouts", s.wsOfApp(s.wsAppTimeouts)), ws("/apps/{id}/timeouts/{kind}", s.wsOfApp(s.wsAppTimeout)),
		ws("/apps/{id}/appattempts", s.wsAttempts), ws("/apps/{id}/appattempts/{attempt}", s.wsAttempt),
		ws("/apps/{id}/appattempts/{attempt}/containers", s.wsContainers),
		ws("/apps/{id}/appattempts/{attempt}/containers/{container}", s.wsContainer),
		ws("/appstatistics", s.wsStatistics), ws("/userinfo", s.wsUserInfo), ws("/queues/{queue}/access", s.wsQueueAccess),
		ws("/get-node-labels", s.wsLabels), ws("/get-rm-node-labels", s.wsPartitions),
		ws("/get-node-to-labels", s.wsNodeToLabels), ws("/label-mappings", s.wsLabelMappings),
		ws("/scheduler/activities", s.wsActivities), ws("/scheduler/bulk-activities", s.wsBulkActivities),
		ws("/scheduler/app-activities/{id}", s.wsAppActivities),
		ws("/reservation/list", wsReservations), ws("/scheduler/logs", wsSchedulerLogs),
	)
}

// haState is ACTIVE on the leader and STANDBY elsewhere. Every replica reports its own state.
func (s *API) haState() string {
	if s.cfg.Consensus.Role() == "leader" {
		return "ACTIVE"
	}
	return "STANDBY"
}

func (s *API) wsInfo(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	ts := v.State.Meta.ClusterTimestamp
	build := "rmd " + s.cfg.Version
	return s.writeWS(c, "clusterInfo", obj{
		{"id", ts}, {"startedOn", ts}, {"state", "STARTED"}, {"haState", s.haState()},
		{"rmStateStoreName", "raft"},
		{"resourceManagerVersion", hadoopVersion}, {"resourceManagerBuildVersion", build},
		{"resourceManagerVersionBuiltOn", ""},
		{"hadoopVersion", hadoopVersion}, {"hadoopBuildVersion", build}, {"hadoopVersionBuiltOn", ""},
		{"haZooKeeperConnectionState", "Could not find leader elector. Verify both HA and automatic failover are enabled."},
	})
}

// appCounts counts applications by state, as YARN's metrics do.
type appCounts struct{ submitted, pending, running, completed, failed, killed, asked int64 }

// appCountsOf returns the counts of a tally under YARN's names.
func appCountsOf(t *summary.Tally) appCounts {
	by := func(s yarn.ApplicationState) int64 { return int64(t.ByShown[s]) }
	return appCounts{submitted: int64(t.Apps()), pending: by(yarn.AppSubmitted) + by(yarn.AppAccepted),
		running:   by(yarn.AppRunning),
		completed: by(yarn.AppFinished), failed: by(yarn.AppFailed), killed: by(yarn.AppKilled), asked: t.OutstandingAll}
}

// appCounts counts the applications since the cluster was created. Submitted is always the sum of
// the others.
func (v *docs) appCounts() appCounts {
	t, ended := v.Summary().All(), v.EndedApps()
	n := appCountsOf(t)
	for _, k := range []struct {
		to *int64
		of yarn.ApplicationState
	}{{&n.completed, yarn.AppFinished}, {&n.failed, yarn.AppFailed}, {&n.killed, yarn.AppKilled}} {
		gone := int64(ended.Of(k.of)) - int64(t.ByState[k.of])
		*k.to += gone
		n.submitted += gone
	}
	return n
}

// wsMetrics shows sums over the default partition, as YARN does. Fields with AcrossPartition in
// their name are sums over all partitions.
func (s *API) wsMetrics(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	n, total := v.appCounts(), v.State.PartitionTotal(0)
	var use, all state.Use
	var containers int64
	if root := v.State.Queues.Root(); root != 0 {
		use, all = v.State.QueueUse(root, 0), v.State.TotalUse(root)
		containers = v.State.Queues.Get(root).Containers - int64(v.State.Reservations.Len())
	}
	used, reserved, pending := use.Used.Sub(use.Reserved), use.Reserved, use.Pending
	free := total.Sub(used)
	doc := obj{
		{"appsSubmitted", n.submitted}, {"appsCompleted", n.completed}, {"appsPending", n.pending},
		{"appsRunning", n.running}, {"appsFailed", n.failed}, {"appsKilled", n.killed},
		{"reservedMB", reserved[yarn.Memory]}, {"availableMB", free[yarn.Memory]}, {"allocatedMB", used[yarn.Memory]},
		{"pendingMB", pending[yarn.Memory]},
		{"reservedVirtualCores", reserved[yarn.VCores]}, {"availableVirtualCores", free[yarn.VCores]},
		{"allocatedVirtualCores", used[yarn.VCores]}, {"pendingVirtualCores", pending[yarn.VCores]},
		{"containersAllocated", containers}, {"containersReserved", v.State.Reservations.Len()},
		{"containersPending", n.asked},
		{"totalMB", total[yarn.Memory]}, {"utilizedMB", 0}, {"totalVirtualCores", total[yarn.VCores]},
		{"utilizedVirtualCores", 0},
		{"utilizedMBPercent", 0}, {"utilizedVirtualCoresPercent", 0}, {"rmSchedulerBusyPercent", 0},
	}
	doc = append(doc, v.nodeCounts()...)
	doc = append(doc, obj{
		{"containerAssignedPerSecond", 0},
		{"totalUsedResourcesAcrossPartition", v.wsResource(all.Used.Sub(all.Reserved))},
		{"totalClusterResourcesAcrossPartition", v.wsResource(v.State.Meta.Cluster)},
		{"totalReservedResourcesAcrossPartition", v.wsResource(all.Reserved)},
		{"totalAllocatedContainersAcrossPartition", containers}, {"crossPartitionMetricsAvailable", true},
		{"rmEventQueueSize", 0}, {"schedulerEventQueueSize", 0},
	}...)
	return s.writeWS(c, "clusterMetrics", doc)
}

func (v *docs) nodeCounts() obj {
	by := v.NodesByState()
	total := 0
	for s, n := range by {
		if s := yarn.NodeState(s); s != yarn.NodeDecommissioned && s != yarn.NodeShutdown {
			total += n
		}
	}
	return obj{
		{"totalNodes", total}, {"lostNodes", by[yarn.NodeLost]}, {"unhealthyNodes", by[yarn.NodeUnhealthy]},
		{"decommissioningNodes", by[yarn.NodeDecommissioning]}, {"decommissionedNodes", by[yarn.NodeDecommissioned]},
		{"rebootedNodes", by[yarn.NodeRebooted]},
		{"activeNodes", by[yarn.NodeRunning]}, {"shutdownNodes", by[yarn.NodeShutdown]},
	}
}

// wsResource returns the document of a resource: memory and vCores for old clients, and all kinds
// for new ones. The minimum and maximum of each kind are those of a resource without limits.
func (v *docs) wsResource(r yarn.Resource) *shared {
	if have := v.sizes[r]; have != nil {
		return have
	}
	infos := make([]obj, 0, len(v.Kinds))
	for i, name := range v.Kinds {
		infos = append(infos, obj{{"attributes", obj{}}, {"maximumAllocation", int64(math.MaxInt64)},
			{"minimumAllocation", 0},
			{"name", name}, {"resourceType", "COUNTABLE"}, {"units", v.unit(i)}, {"value", r[i]}})
	}
	out := share(obj{{"memory", r[yarn.Memory]}, {"vCores", r[yarn.VCores]},
		{"resourceInformations", obj{{"resourceInformation", infos}}}})
	if len(v.sizes) < maxSizes {
		v.sizes[r] = out
	}
	return out
}

// unit returns the unit of a kind, or "" if the kind is counted.
func (v *docs) unit(kind int) string {
	if v.Conf != nil && kind < len(v.Conf.Units) && v.Conf.Units[kind] != "" {
		return v.Conf.Units[kind]
	}
	if kind == yarn.Memory {
		return "Mi"
	}
	return ""
}

// isActive answers YARN's health check for load balancers.
func (s *API) isActive(c *route.Call) error {
	c.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if s.cfg.Consensus.Role() != "leader" {
		c.W.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = c.W.Write([]byte("Not Active!\n"))
		return nil
	}
	_, _ = c.W.Write([]byte("I am Active!\n"))
	return nil
}
