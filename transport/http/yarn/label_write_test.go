package yarnweb

import (
	"net/http"
	"strings"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// newLabelled returns a cluster with node labels. Queue batch may use the label gpu.
func newLabelled(t *testing.T, source string) *fixture {
	const batch = "yarn.scheduler.capacity.root.batch.accessible-node-labels"
	return newFixtureWith(t, []input.Property{{Name: "yarn.node-labels.enabled", Value: "true"},
		{Name: "yarn.node-labels.configuration-type", Value: source},
		{Name: batch, Value: "gpu"}, {Name: "yarn.scheduler.capacity.root.default.accessible-node-labels", Value: " "}})
}

// post sends a change of labels as root, in XML if the body begins with <, otherwise in JSON.
func (h *fixture) post(path, body string) reply {
	h.t.Helper()
	media := asJSON
	if strings.HasPrefix(body, "<") {
		media = asXML
	}
	user := "?user.name=root"
	if strings.Contains(path, "?") {
		user = "&user.name=root"
	}
	return h.do(http.MethodPost, "/ws/v1/cluster"+path+user, body, "Content-Type", media)
}

func (h *fixture) labels() string {
	out := ""
	st := h.planner.State()
	st.Labels.Each(func(_ state.LabelSlot, l *state.Label) bool {
		if l.Listed {
			out += l.Name + " "
		}
		return true
	})
	for _, n := range st.LabelledNodes() {
		out += n.ID.String() + "=" + st.Labels.Name(n.Label) + " "
	}
	return out
}

// TestLabelWrites checks that changes of labels that a Java ResourceManager accepted are accepted
// and have the same effect.
func TestLabelWrites(t *testing.T) {
	h := newLabelled(t, "centralized")
	for _, c := range []struct{ path, body, want string }{
		{"/add-node-labels", `{"nodeLabelInfo":{"name":"one","exclusivity":"false"}}`, "one "},
		{"/add-node-labels", `{"nodeLabelInfo":[{"name":"gpu","exclusivity":true},{"name":"bare"}]}`, "one gpu bare "},
		{"/add-node-labels",
			`<nodeLabelsInfo><nodeLabelInfo><name>xm</name><exclusivity>true</exclusivity></nodeLabelInfo></nodeLabelsInfo>`,
			"one gpu bare xm "},
		{"/add-node-labels", `{}`, "one gpu bare xm "},
		{"/remove-node-labels?labels=one&labels=xm", "", "gpu bare "},
		{"/remove-node-labels", "", "gpu bare "},
		{"/nodes/n1:1/replace-labels?labels=gpu", "", "gpu bare n1:1=gpu "},
		{"/nodes/other/replace-labels?labels=bare", "", "gpu bare n1:1=gpu other:0=bare "},
		{"/replace-node-to-labels", `{"nodeToLabels":[{"nodeId":"n1:1","labels":["bare"]},{"nodeId":"other","labels":[]}]}`,
			"gpu bare n1:1=bare "},
		{"/replace-node-to-labels", `{"nodeToLabels":{"nodeId":"nz:1","labels":"gpu"}}`, "gpu bare n1:1=bare nz:1=gpu "},
		{"/replace-node-to-labels", `<nodeToLabelsName><nodeToLabels><nodeId>nz:1</nodeId></nodeToLabels></nodeToLabelsName>`,
			"gpu bare n1:1=bare "},
		{"/replace-node-to-labels", `{}`, "gpu bare n1:1=bare "},
		{"/nodes/n1:1/replace-labels", "", "gpu bare "},
	} {
		if r := h.post(c.path, c.body).want(t, http.StatusOK); r.body != "" || h.labels() != c.want {
			t.Errorf("%s %s: %q, then %s", c.path, c.body, r.body, h.labels())
		}
	}
	if st := h.planner.State(); !st.Labels.Get(st.Labels.Find("gpu")).Exclusive ||
		st.Labels.Get(st.Labels.Find("bare")).Exclusive {
		t.Error("exclusivity is lost")
	}
}

// TestLabelWriteRefusals checks that refusals have the texts of a Java ResourceManager.
func TestLabelWriteRefusals(t *testing.T) {
	h := newLabelled(t, "centralized")
	h.post("/add-node-labels", `{"nodeLabelInfo":[{"name":"gpu","exclusivity":true},{"name":"spare"}]}`).want(t,
		http.StatusOK)
	before := h.planner.State().Digest()
	bad := func(cause string) string {
		return `{"RemoteException":{"exception":"BadRequestException","message":"java.io.IOException: ` + cause +
			`","javaClassName":"org.apache.hadoop.yarn.webapp.BadRequestException"}}`
	}
	for _, c := range []struct{ path, body, want string }{
		{"/add-node-labels", `{"nodeLabelInfo":[{"name":"new"},{"name":"gpu","exclusivity":false}]}`,
			bad("Exclusivity cannot be modified for an existing label with : <gpu:exclusivity=false>")},
		{"/add-node-labels", `{"nodeLabelInfo":[{"name":"-a"}]}`,
			bad("label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= -a")},
		{"/remove-node-labels?labels=nosuch", "",
			bad("Node label=nosuch to be removed doesn't existed in cluster node labels collection.")},
		{"/remove-node-labels?labels=spare,gpu", "",
			bad("Node label=spare,gpu to be removed doesn't existed in cluster node labels collection.")},
		{"/remove-node-labels?labels=gpu", "",
			bad("Cannot remove label=gpu, because queue=root.batch is using this label. Please remove label on queue before remove the label")},
		{"/nodes/n1:1/replace-labels?labels=nosuch", "",
			bad("Not all labels being replaced contained by known label collections, please check, new labels=[nosuch]")},
		{"/nodes/n1:1/replace-labels?labels=gpu&labels=spare", "",
			bad("2 labels specified on host=n1, please note that we do not support specifying multiple labels on a single host for now.")},
		{"/nodes/a:b:c/replace-labels?labels=spare", "",
			`{"RemoteException":{"exception":"IllegalArgumentException","message":"Invalid NodeId [a:b:c]. Expected host:port","javaClassName":"java.lang.IllegalArgumentException"}}`},
	} {
		if r := h.post(c.path, c.body).want(t, http.StatusBadRequest); r.body != c.want {
			t.Errorf("%s %s:\n%s, want\n%s", c.path, c.body, r.body, c.want)
		}
	}
	for path, shown := range map[string]string{"/add-node-labels": ".../add-node-labels ",
		"/remove-node-labels": ".../remove-node-labels ", "/nodes/n1:1/replace-labels": ".../nodes/nodeid/replace-labels",
		"/replace-node-to-labels": ".../replace-node-to-labels"} {
		for query, user := range map[string]string{"?user.name=ann": "ann", "": "dr.who"} {
			r := h.do(http.MethodPost, "/ws/v1/cluster"+path+query, "{}", "Content-Type", asJSON).want(t,
				http.StatusUnauthorized)
			if want := `{"RemoteException":{"exception":"AuthorizationException","message":"User ` + user +
				` not authorized for post to ` + shown +
				`","javaClassName":"org.apache.hadoop.security.authorize.AuthorizationException"}}`; r.body != want {
				t.Errorf("%s by %s: %s, want\n%s", path, user, r.body, want)
			}
		}
	}
	h.post("/add-node-labels", "xx").want(t, http.StatusBadRequest)
	h.do(http.MethodPost, "/ws/v1/cluster/add-node-labels?user.name=root", "gpu", "Content-Type", "text/plain").want(t,
		http.StatusUnsupportedMediaType)
	h.post("/add-node-labels", `{"nodeLabelInfo":[`+strings.Repeat(" ", bodyMax)+`]}`).want(t, http.StatusBadRequest)
	for media, body := range map[string]string{
		"application/json": `{"nodeLabelInfo":[` + strings.Repeat("{},", bodyMax/3-20) + `{}]}`,
		"application/xml":  `<nodeLabelsInfo>` + strings.Repeat("<a/>", bodyMax/4-20) + `</nodeLabelsInfo>`,
	} {
		r := h.do(http.MethodPost, "/ws/v1/cluster/add-node-labels?user.name=root", body, "Content-Type", media).want(t,
			http.StatusBadRequest)
		if !strings.Contains(r.body, "for each 8 bytes") {
			t.Errorf("a %s body of tiny elements: %.200s", media, r.body)
		}
	}
	if h.planner.State().Digest() != before {
		t.Error("a refused call changed something")
	}
}

// TestLabelWritesDistributedLabels checks that labelling nodes is refused if NodeManagers report
// their own labels.
func TestLabelWritesDistributedLabels(t *testing.T) {
	h := newLabelled(t, "distributed")
	h.post("/add-node-labels", `{"nodeLabelInfo":{"name":"gpu","exclusivity":true}}`).want(t, http.StatusOK)
	const want = `{"RemoteException":{"exception":"IOException","message":"Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled.","javaClassName":"java.io.IOException"}}`
	for path, body := range map[string]string{"/nodes/n1:1/replace-labels?labels=gpu": "",
		"/replace-node-to-labels": `{"nodeToLabels":{"nodeId":"n1:1","labels":"gpu"}}`} {
		if r := h.post(path, body).want(t, http.StatusNotFound); r.body != want {
			t.Errorf("POST %s = %s, want %s", path, r.body, want)
		}
	}
}
