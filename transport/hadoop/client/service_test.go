package client

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// TestEveryMethod compares the protocol's methods with YARN's.
func TestEveryMethod(t *testing.T) {
	want := strings.Fields(`getNewApplication getApplicationReport submitApplication failApplicationAttempt forceKillApplication getClusterMetrics
		getApplications getClusterNodes getQueueInfo getQueueUserAcls getDelegationToken renewDelegationToken cancelDelegationToken
		moveApplicationAcrossQueues getApplicationAttemptReport getApplicationAttempts getContainerReport getContainers getNewReservation
		submitReservation updateReservation deleteReservation listReservations getNodeToLabels getLabelsToNodes getClusterNodeLabels
		updateApplicationPriority signalToContainer updateApplicationTimeouts getResourceProfiles getResourceProfile getResourceTypeInfo
		getClusterNodeAttributes getAttributesToNodes getNodesToAttributes`)
	p := newFixture(t).svc.Protocol()
	got := slices.Sorted(maps.Keys(p.Methods))
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("methods %v", got)
	}
	if p.Name != "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB" || p.Version != 1 {
		t.Errorf("%s, version %d", p.Name, p.Version)
	}
}

func TestDisabledFeatures(t *testing.T) {
	h := newFixture(t)
	ctx := context.Background()
	text := "Resource profile is not enabled, please enable resource profile feature before using its functions. (by setting yarn.resourcemanager.resource-profiles.enabled to true)"
	_, err := h.svc.resourceProfiles(ctx, as("ann"), nil)
	refused(t, err, "org.apache.hadoop.yarn.exceptions.YARNFeatureNotEnabledException", text)
	_, err = h.svc.resourceProfile(ctx, as("ann"), nil)
	refused(t, err, "org.apache.hadoop.yarn.exceptions.YARNFeatureNotEnabledException", text)
	_, err = noReservations(ctx, as("ann"), nil)
	refused(t, err, ipc.ClassYarn, "Reservation is not enabled. Please enable & try again")
	if r, err := h.svc.clusterNodeLabels(ctx, as("ann"), nil); err != nil ||
		len(r.GetNodeLabels())+len(r.GetDeprecatedNodeLabels()) != 0 {
		t.Errorf("labels %v, %v", r, err)
	}
	types, err := h.svc.resourceTypes(ctx, as("ann"), nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "resource-types", types)
}

// TestReportWaitReason checks that only the report of an accepted application contains the reason
// why it waits.
func TestReportWaitReason(t *testing.T) {
	h := newFixture(t)
	h.svc.cfg.Why = func(_ *state.State, id yarn.ApplicationID) string { return "no node has room for " + id.String() }
	id := h.app(t, "ann", nil)
	if d := h.report(t, "ann", id).GetDiagnostics(); d != "no node has room for "+id.String() {
		t.Errorf("diagnostics %q", d)
	}
	h.node(t, "node1")
	h.launch(t, id)
	if d := h.report(t, "ann", id).GetDiagnostics(); d != "" {
		t.Errorf("diagnostics %q of one that runs", d)
	}
}

func TestLogAggregation(t *testing.T) {
	h := newFixture(t)
	h.svc.cfg.LogAggregation = true
	id := h.app(t, "ann", nil)
	if r := h.report(t, "ann", id); r.LogAggregationStatus != nil {
		t.Errorf("%v before there is a container", r.LogAggregationStatus)
	}
	h.node(t, "node1")
	if r := h.report(t, "ann", id); r.GetLogAggregationStatus() != proto.LogAggregationStatusProto_LOG_NOT_START {
		t.Errorf("%v while it runs", r.LogAggregationStatus)
	}
}

func TestConfig(t *testing.T) {
	good := newFixture(t).svc.cfg
	for name, spoil := range map[string]func(*Config){
		"submitter": func(c *Config) { c.Submitter = nil }, "clock": func(c *Config) { c.Now = nil },
		"web address": func(c *Config) { c.WebURL = "rm1:8088" },
		"proxy": func(c *Config) {
			c.ProxyURL = "http://p/x"
		}, "scheme": func(c *Config) { c.NodeScheme = "ftp" }, "bound": func(c *Config) { c.MaxContext = 1 },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil {
			t.Errorf("a wrong %s is taken", name)
		}
	}
	good.WebURL, good.ProxyURL = "https://rm1:8090/", "http://proxy:9099/"
	s, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	id := yarn.ApplicationID{ClusterTimestamp: 1, Seq: 2}
	if s.proxyURL(id) != "http://proxy:9099/proxy/application_1_0002/" ||
		s.appPage(id) != "https://rm1:8090/cluster/app/application_1_0002" {
		t.Errorf("proxyURL = %s, appPage = %s, want those of the proxy http://proxy:9099 and of https://rm1:8090",
			s.proxyURL(id), s.appPage(id))
	}
}

// TestNoPages checks that a replica without web pages gives no address of a page, except of an
// external proxy.
func TestNoPages(t *testing.T) {
	cfg := newFixture(t).svc.cfg
	const failed = "x\nFailing this attempt.Diagnostics: y. Failing the application."
	id := yarn.ApplicationID{ClusterTimestamp: 1, Seq: 2}
	for proxy, want := range map[string]string{"": "N/A",
		"http://proxy:9099": "http://proxy:9099/proxy/application_1_0002/"} {
		cfg.WebURL, cfg.ProxyURL = "", proxy
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if s.proxyURL(id) != want || s.appPage(id) != "N/A" || s.diagnostics(id, failed) != failed {
			t.Errorf("with proxy %q: %s, %s, %q", proxy, s.proxyURL(id), s.appPage(id), s.diagnostics(id, failed))
		}
	}
}

func TestLoad(t *testing.T) {
	conf, err := hadoopconf.Parse(strings.NewReader(`<configuration>
		<property><name>yarn.resourcemanager.application.max-tags</name><value>3</value></property>
		<property><name>yarn.resourcemanager.application.max-tag.length</name><value>many</value></property>
		<property><name>yarn.log-aggregation-enable</name><value>true</value></property>
		<property><name>yarn.webapp.filter-entity-list-by-user</name><value>true</value></property>
		<property><name>yarn.http.policy</name><value>HTTPS_ONLY</value></property>
		<property><name>yarn.web-proxy.address</name><value>proxy:9099</value></property></configuration>`), "yarn-site.xml")
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	if err := c.Load(conf); err == nil || !strings.Contains(err.Error(),
		"yarn.resourcemanager.application.max-tag.length") {
		t.Errorf("a wrong count: %v", err)
	}
	if c.MaxTags != 3 || c.MaxTagLength != 100 || !c.LogAggregation || !c.OwnOnly || c.NodeScheme != "https" ||
		c.ProxyURL != "https://proxy:9099" {
		t.Errorf("loaded %+v", c)
	}
}
