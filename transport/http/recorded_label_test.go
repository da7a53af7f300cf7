package httpserver

import (
	"testing"

	"rmd/scheduler/input"
)

// recordedLabels lists the reads of testdata/recorded/label_*. Their ResourceManager had the
// exclusive label gpu on node-1 and the label spare, which is not exclusive, on no node.
// Application 1 has finished. Application 2 runs two containers. Both have the label gpu.
// Application 3 waits for an AM of 3072 MB on gpu, in a queue that may have less.
var recordedLabels = []struct{ file, path string }{
	{"label_nodes", "/nodes"}, {"label_node", "/nodes/node-1:8041"}, {"label_app_finished", "/apps/" + app1},
	{"label_app_running", "/apps/" + app2}, {"label_app_waiting", "/apps/" + app3},
	{"label_scheduler", "/scheduler"}, {"label_metrics", "/metrics"}, {"label_list", "/get-node-labels"},
	{"label_partitions", "/get-rm-node-labels"}, {"label_nodetolabels", "/get-node-to-labels"},
	{"label_mappings", "/label-mappings"}, {"label_mappings_one", "/label-mappings?labels=gpu"},
	{"label_getlabels", "/nodes/node-1:8041/get-labels"},
	{"nodelabels_empty", "/nodes/node-2:8041/get-labels"}, {"nodelabels_empty", "/nodes/elsewhere/get-labels"},
	{"labelmappings_empty", "/label-mappings?labels=gpu,spare"},
}

func labelBench(t *testing.T) *bench {
	w := newPlanned(
		t, `yarn.node-labels.enabled=true root.accessible-node-labels=* root.accessible-node-labels.gpu.capacity=100 root.accessible-node-labels.spare.capacity=100
		root.default.accessible-node-labels=gpu,spare root.default.accessible-node-labels.gpu.capacity=75 root.default.accessible-node-labels.gpu.maximum-am-resource-percent=0.5
		root.default.accessible-node-labels.spare.capacity=100 root.batch.accessible-node-labels=gpu root.batch.accessible-node-labels.gpu.capacity=25
		root.batch.accessible-node-labels.gpu.maximum-capacity=50`)
	w.do(&input.SetLabels{Labels: []input.Label{{Name: "gpu", Exclusive: true}, {Name: "spare"}}})
	node := w.node("node-1")
	w.node("node-2")
	w.do(&input.LabelNodes{Nodes: []input.LabelledNode{{ID: node, Labels: []string{"gpu"}}}})
	w.tell(node, "gpu", 3072)
	return plannedBench(t, w.h)
}

func TestRecordedLabels(t *testing.T) { compareShapes(t, labelBench(t), recordedLabels) }

func TestRecordedLabelErrors(t *testing.T) {
	compareTexts(t, labelBench(t), []struct{ file, path string }{{"err_getlabels", "/nodes/a:b:c/get-labels"}})
}

// TestRecordedLabelValues checks that the values that depend only on the workload and the labels
// equal Java's.
func TestRecordedLabelValues(t *testing.T) {
	says(t, labelBench(t), map[string][]string{
		"/apps/" + app2: {`"appNodeLabelExpression":"gpu","amNodeLabelExpression":"gpu"`,
			`"queueUsagePercentage":25.0,"clusterUsagePercentage":9.375`,
			`{"partitionName":"gpu","used":{"memory":768,"vCores":3`, `{"partitionName":"","used":{"memory":0,`},
		"/apps/" + app3: {`"nodeLabelExpression":"gpu"`, `"pending":{"memory":3072,`},
		"/nodes": {`"id":"node-1:8041"`,
			`"numQueuedContainers":0,"nodeLabels":["gpu"],"allocationTags":{}`, `"numQueuedContainers":0,"allocationTags":{}`},
		"/get-node-labels": {
			`{"name":"gpu","exclusivity":"true","partitionInfo":{"resourceAvailable":{"memory":"4096"`,
			`{"name":"spare","exclusivity":"false"`},
		"/get-rm-node-labels": {
			`{"name":"<DEFAULT_PARTITION>","exclusivity":"true","partitionInfo":{"resourceAvailable":{"memory":"4096"`,
			`"activeNMs":"1"`, `"activeNMs":"0"`},
		"/get-node-to-labels": {
			`{"key":"node-1:8041","value":{"nodeLabelInfo":[{"name":"gpu","exclusivity":"true"}]}}`},
		"/label-mappings?labels=gpu": {
			`{"key":{"name":"gpu","exclusivity":"true"},"value":{"nodes":"node-1:8041","partitionInfo":`},
		"/metrics": {`"reservedMB":0,"availableMB":4096,"allocatedMB":0,"pendingMB":0`, `"totalMB":4096`,
			`"totalUsedResourcesAcrossPartition":{"memory":768,`,
			`"totalClusterResourcesAcrossPartition":{"memory":8192,`},
		"/scheduler": {`"nodeLabels":["gpu","spare"]`, `"nodeLabels":["gpu"]`,
			`"effectiveMinResource":{"memory":3072,"vCores":3`,
			`"usedCapacity":25.0,"maxCapacity":100.0,"absoluteCapacity":75.0,"absoluteUsedCapacity":18.75`,
			`{"partitionName":"gpu","used":{"memory":0,"vCores":0`,
			`"capacity":25.0,"usedCapacity":0.0,"maxCapacity":50.0,"absoluteCapacity":25.0`},
	})
}
