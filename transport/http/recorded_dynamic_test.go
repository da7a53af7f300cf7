package httpserver

import (
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// The answer dynamic_scheduler in testdata/recorded is that of a ResourceManager whose queues
// root.users.ann and root.users.team.bob were created by submissions, with auto-queue-creation-v2.
// Each has an application whose AM runs.
func dynamicBench(t *testing.T) *bench {
	w := plannedWith(t, `root.queues=default,users root.default.capacity=40 root.users.capacity=60 root.users.maximum-capacity=100
		root.users.auto-queue-creation-v2.enabled=true root.users.auto-queue-creation-v2.template.maximum-applications=100
		root.users.auto-queue-creation-v2.leaf-template.user-limit-factor=2 root.users.auto-queue-creation-v2.leaf-template.capacity=3w
		root.users.auto-queue-creation-v2.parent-template.acl_submit_applications=*`)
	node := w.node("node-1")
	w.submitTo("ann", "root.users.ann")
	w.submitTo("bob", "root.users.team.bob")
	w.do(&input.NodeHeartbeat{ID: node})
	w.do(&input.NodeHeartbeat{ID: node})
	return plannedBench(t, w.h)
}

// submitTo submits an application with an AM of 256 MB.
func (w *planned) submitTo(user, queue string) {
	w.do(&input.SubmitApplication{Name: "x", User: user, Queue: queue, Type: "YARN", AM: yarn.NewResource(256, 1), MaxAttempts: 1})
}

func TestRecordedDynamicQueues(t *testing.T) {
	compareShapes(t, dynamicBench(t), []struct{ file, path string }{{"dynamic_scheduler", "/scheduler"}})
}

// Values that follow from the queues alone are Java's.
func TestRecordedDynamicValues(t *testing.T) {
	says(t, dynamicBench(t), map[string][]string{"/scheduler": {
		`"autoCreationEligibility":"flexible","autoQueueTemplateProperties":{"property":[{"name":"maximum-applications","value":"100"}]},"autoQueueParentTemplateProperties":{"property":[{"name":"acl_submit_applications","value":"*"}]}`,
		`{"name":"capacity","value":"3w"}`, `{"name":"user-limit-factor","value":"2"}`,
		`"queuePath":"root.users.ann","capacity":0.0,"usedCapacity":`, `"absoluteCapacity":45.0,"absoluteMaxCapacity":100.0,`, `"weight":3.0,"normalizedWeight":0.75,"numApplications":1`,
		`"mode":"weight","queueType":"leaf","creationMethod":"dynamicFlexible","autoCreationEligibility":"off"`,
		`"mode":"weight","queueType":"parent","creationMethod":"dynamicFlexible","autoCreationEligibility":"flexible"`,
		`"configuredCapacityVector":"[memory-mb=3.0w,vcores=3.0w]"`, `"effectiveMinResource":{"memory":1843,"vCores":1`,
		`"maxApplications":100,"maxApplicationsPerUser":100`, `"maxApplications":1500,"maxApplicationsPerUser":1500`, `"userLimitFactor":-1.0`, `"configuredMaxAMResourceLimit":1.0`,
	}})
}
