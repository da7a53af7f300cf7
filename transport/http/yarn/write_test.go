package yarnweb

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	gproto "google.golang.org/protobuf/proto"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/http/problem"
	"rmd/transport/http/yarn/submission"
	"rmd/yarn"
)

const (
	asJSON = "application/json"
	asXML  = "application/xml"
)

// newID gets an application id over HTTP.
func (h *fixture) newID() string {
	h.t.Helper()
	r := h.do(http.MethodPost, "/ws/v1/cluster/apps/new-application?user.name=ann", "").want(h.t, http.StatusOK)
	var doc struct {
		ID      string              `json:"application-id"`
		Maximum submission.Resource `json:"maximum-resource-capability"`
	}
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil || doc.Maximum.Memory != 8192 || doc.Maximum.VCores != 4 {
		h.t.Fatalf("new-application: error %v, maximum %+v, want 8192 MB and 4 vcores: %s",
			err, doc.Maximum, r.body)
	}
	return doc.ID
}

func TestNewApplication(t *testing.T) {
	h := newFixture(t)
	if a, b := h.newID(), h.newID(); a == b || !strings.HasPrefix(a, "application_1780000000000_") {
		t.Errorf("%s and %s", a, b)
	}
	r := h.do(http.MethodPost, "/ws/v1/cluster/apps/new-application?user.name=ann", "", "Accept", asXML).want(t,
		http.StatusOK,
		"<NewApplication><application-id>application_",
		"<maximum-resource-capability><memory>8192</memory><vCores>4</vCores></maximum-resource-capability></NewApplication>")
	if r.Header.Get("Content-Type") != "application/xml;charset=utf-8" {
		t.Errorf("it is told as %s", r.Header.Get("Content-Type"))
	}
}

const submissionJSON = `{"application-id":"ID","application-name":"job","queue":"default","priority":3,"unmanaged-AM":false,"max-app-attempts":4,
"application-type":"SPARK","keep-containers-across-application-attempts":true,"attempt-failures-validity-interval":60000,
"application-tags":{"tag":["b","a"]},"resource":{"memory":1024,"vCores":2},"log-aggregation-context":{"log-include-pattern":"in","rolled-log-exclude-pattern":"ex"},
"am-container-spec":{
 "local-resources":{"entry":[{"key":"am.jar","value":{"resource":"hdfs://nn:9000/user/ann/am.jar","type":"FILE","visibility":"APPLICATION","size":43004,"timestamp":1405452071209}}]},
 "environment":{"entry":{"key":"HOME","value":"/tmp"}},
 "commands":{"command":"java Master 1>out"},
 "service-data":{"entry":[{"key":"shuffle","value":"c2VjcmV0"}]},
 "application-acls":{"entry":[{"key":"VIEW_APP","value":"bob"},{"key":"MODIFY_APP","value":"eve"}]},
 "credentials":{"tokens":{"entry":[{"key":"hdfs","value":"TOKEN"}]},"secrets":{"entry":[{"key":"password","value":"c2VjcmV0"}]}}}}`

const submissionXML = `<?xml version="1.0" encoding="UTF-8"?><application-submission-context><application-id>ID</application-id>
<application-name>job</application-name><queue>default</queue><priority>3</priority><unmanaged-AM>false</unmanaged-AM><max-app-attempts>4</max-app-attempts>
<application-type>SPARK</application-type><keep-containers-across-application-attempts>true</keep-containers-across-application-attempts>
<attempt-failures-validity-interval>60000</attempt-failures-validity-interval>
<application-tags><tag>b</tag><tag>a</tag></application-tags><resource><memory>1024</memory><vCores>2</vCores></resource>
<log-aggregation-context><log-include-pattern>in</log-include-pattern><rolled-log-exclude-pattern>ex</rolled-log-exclude-pattern></log-aggregation-context>
<am-container-spec>
<local-resources><entry><key>am.jar</key><value><resource>hdfs://nn:9000/user/ann/am.jar</resource><type>FILE</type><visibility>APPLICATION</visibility><size>43004</size><timestamp>1405452071209</timestamp></value></entry></local-resources>
<environment><entry><key>HOME</key><value>/tmp</value></entry></environment>
<commands><command>java Master 1&gt;out</command></commands>
<service-data><entry><key>shuffle</key><value>c2VjcmV0</value></entry></service-data>
<application-acls><entry><key>VIEW_APP</key><value>bob</value></entry><entry><key>MODIFY_APP</key><value>eve</value></entry></application-acls>
<credentials><tokens><entry><key>hdfs</key><value>TOKEN</value></entry></tokens><secrets><entry><key>password</key><value>c2VjcmV0</value></entry></secrets></credentials>
</am-container-spec></application-submission-context>`

// urlToken returns a token in Hadoop's URL form.
func urlToken() string {
	b := []byte{2, 'i', 'd', 2, 'p', 'w', 21}
	b = append(append(b, "HDFS_DELEGATION_TOKEN"...), 7)
	return base64.RawURLEncoding.EncodeToString(append(b, "nn:9000"...))
}

// TestSubmit submits an application with all fields, in JSON and XML.
func TestSubmit(t *testing.T) {
	for media, text := range map[string]string{asJSON: submissionJSON, asXML: submissionXML} {
		h := newFixture(t)
		name := h.newID()
		text = strings.NewReplacer("ID", name, "TOKEN", urlToken()).Replace(text)
		r := h.do(http.MethodPost, "/ws/v1/cluster/apps?user.name=ann", text, "Content-Type", media).want(t,
			http.StatusAccepted)
		if got := r.Header.Get("Location"); got != h.srv.URL+"/ws/v1/cluster/apps/"+name || r.body != "" {
			t.Errorf("Location %q, body %q", got, r.body)
		}
		id, err := yarn.ParseApplicationID(name)
		if err != nil {
			t.Fatal(err)
		}
		a := h.record(id)
		if a.Details().Name != "job" || h.planner.State().Names.Text(a.User) != "ann" || a.Details().Type != "SPARK" ||
			a.Priority != 3 || a.MaxAttempts != 4 || !a.KeepContainers || a.ValidityMillis != 60000 ||
			a.AM != yarn.NewResource(1024, 1) || a.Unmanaged || !slices.Equal(a.Details().Tags, []string{"b", "a"}) {
			t.Errorf("%s: submitted as %+v", media, a)
		}
		checkContext(t, []byte(a.Details().Context))
	}
}

// TestSubmitBadLifetime checks that the refusal of an invalid lifetime in a tag says what is wrong.
func TestSubmitBadLifetime(t *testing.T) {
	h := newFixture(t)
	for _, seconds := range []string{"0", "3153600000", "soon"} {
		name := h.newID()
		text := strings.NewReplacer("ID", name, "TOKEN", urlToken(), "<tag>b</tag>",
			"<tag>rmd.lifetime:seconds="+seconds+"</tag>").Replace(submissionXML)
		h.do(http.MethodPost, "/ws/v1/cluster/apps?user.name=ann", text, "Content-Type", asXML).want(t, http.StatusBadRequest,
			"declares no lifetime of 1 to 31536000 seconds")
		if id, err := yarn.ParseApplicationID(name); err != nil || h.planner.State().Apps.ByID(id) != 0 {
			t.Errorf("%s seconds: it was submitted all the same (%v)", seconds, err)
		}
	}
}

// checkContext checks the launch context that the node of the AM will get.
func checkContext(t *testing.T, b []byte) {
	t.Helper()
	var sub proto.ApplicationSubmissionContextProto
	if err := gproto.Unmarshal(b, &sub); err != nil {
		t.Fatal(err)
	}
	am := sub.GetAmContainerSpec()
	if !slices.Equal(am.GetCommand(), []string{"java Master 1>out"}) {
		t.Errorf("commands %q", am.GetCommand())
	}
	if e := am.GetEnvironment(); len(e) != 1 || e[0].GetKey() != "HOME" || e[0].GetValue() != "/tmp" {
		t.Errorf("environment %v", e)
	}
	want := &proto.LocalResourceProto{Resource: &proto.URLProto{Scheme: new("hdfs"), Host: new("nn"),
		Port: new(int32(9000)), File: new("/user/ann/am.jar")},
		Size: new(int64(43004)), Timestamp: new(int64(1405452071209)), Type: proto.LocalResourceTypeProto_FILE.Enum(),
		Visibility: proto.LocalResourceVisibilityProto_APPLICATION.Enum()}
	if l := am.GetLocalResources(); len(l) != 1 || l[0].GetKey() != "am.jar" || !gproto.Equal(l[0].GetValue(), want) {
		t.Errorf("local resources %v", l)
	}
	if d := am.GetServiceData(); len(d) != 1 || d[0].GetKey() != "shuffle" || string(d[0].GetValue()) != "secret" {
		t.Errorf("service data %v", d)
	}
	acls := map[proto.ApplicationAccessTypeProto]string{}
	for _, a := range am.GetApplication_ACLs() {
		acls[a.GetAccessType()] = a.GetAcl()
	}
	if len(acls) != 2 || acls[proto.ApplicationAccessTypeProto_APPACCESS_VIEW_APP] != "bob" ||
		acls[proto.ApplicationAccessTypeProto_APPACCESS_MODIFY_APP] != "eve" {
		t.Errorf("ACLs %v", acls)
	}
	c, err := token.ReadCredentials(am.GetTokens())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tokens) != 1 || c.Tokens[0].Kind != "HDFS_DELEGATION_TOKEN" || c.Tokens[0].Service != "nn:9000" ||
		len(c.Secrets) != 1 || c.Secrets[0].Alias != "password" || string(c.Secrets[0].Bytes) != "secret" {
		t.Errorf("credentials %+v", c)
	}
	if l := sub.GetLogAggregationContext(); l.GetIncludePattern() != "in" || l.GetRolledLogsExcludePattern() != "ex" {
		t.Errorf("logs %v", l)
	}
}

// exception checks that the answer is an error in Hadoop's format with the given status, class and
// message.
func (r reply) exception(t *testing.T, status int, name, message string) {
	t.Helper()
	var doc struct {
		RemoteException struct{ Exception, Message, JavaClassName string }
	}
	r.want(t, status)
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil {
		t.Fatalf("answer is no RemoteException: %v: %s", err, r.body)
	}
	e := doc.RemoteException
	if e.Exception != name || !strings.HasSuffix(e.JavaClassName, "."+name) || !strings.Contains(e.Message, message) {
		t.Errorf("%s %s is refused with %+v, not %s: %s", r.Request.Method, r.Request.URL, e, name, message)
	}
}

// TestBadSubmissions checks which submissions are refused, and with which errors.
func TestBadSubmissions(t *testing.T) {
	h := newFixture(t)
	name := h.newID()
	post := func(body string, headers ...string) reply {
		return h.do(http.MethodPost, "/ws/v1/cluster/apps?user.name=ann", body,
			append([]string{"Content-Type", asJSON}, headers...)...)
	}
	const badRequest = "BadRequestException"
	whole := strings.NewReplacer("ID", name, "TOKEN", urlToken()).Replace(submissionJSON)
	for what, c := range map[string]struct{ old, now, says string }{
		"no id":        {name, "", "Could not parse application id"},
		"no queue":     {`"queue":"default"`, `"queue":"nowhere"`, "nowhere"},
		"odd url":      {"hdfs://nn:9000", "hdfs://nn:x", "is not a URL"},
		"odd type":     {`"FILE"`, `"THING"`, "THING"},
		"no size":      {"43004", "0", "size and timestamp"},
		"odd data":     {"c2VjcmV0", "%%%", "illegal base64"},
		"odd acl":      {"VIEW_APP", "OWN_APP", "OWN_APP"},
		"odd token":    {urlToken(), "x", "Could not parse credentials data"},
		"odd priority": {`"priority":3`, `"priority":"high"`, "cannot be read"},
		"too large":    {`"memory":1024`, `"memory":1048576`, ""},
		"cut off":      {`}}}}`, ``, "cannot be read"},
	} {
		if !strings.Contains(whole, c.old) {
			t.Fatalf("%s: %q is not there", what, c.old)
		}
		post(strings.Replace(whole, c.old, c.now, 1)).exception(t, http.StatusBadRequest, badRequest, c.says)
	}
	post(strings.Repeat(" ", bodyMax)+whole).exception(t, http.StatusBadRequest, badRequest, "too large")
	h.do(http.MethodPost, "/ws/v1/cluster/apps?user.name=nobody", whole, "Content-Type", asJSON).exception(t,
		http.StatusForbidden, "ForbiddenException", "nobody")
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "",
		"multipart/form-data; boundary=x"} {
		h.do(http.MethodPost, "/ws/v1/cluster/apps?user.name=ann", whole, "Content-Type", media).want(t,
			http.StatusUnsupportedMediaType)
	}
	post("<x/>", "Accept", asXML).want(t, http.StatusBadRequest,
		"<RemoteException><exception>BadRequestException</exception><message>java.lang.Exception: ",
		"<javaClassName>org.apache.hadoop.yarn.webapp.BadRequestException</javaClassName>")
	if id, _ := yarn.ParseApplicationID(name); h.planner.State().Apps.ByID(id) != 0 {
		t.Error("one of them was submitted")
	}
	h.submitErr = errNoLeader
	post(whole).exception(t, http.StatusServiceUnavailable, "StandbyException", "no leader")
	h.do(http.MethodPost, "/ws/v1/cluster/apps/new-application?user.name=ann", "").exception(t,
		http.StatusServiceUnavailable, "StandbyException", "no leader")
}

// TestStaticUser checks that a caller without a name cannot change anything.
func TestStaticUser(t *testing.T) {
	h := newFixture(t)
	id := h.registered("").App.String()
	for _, user := range []string{"", "?user.name=", "?user.name=dr.who"} {
		for _, c := range [][2]string{{http.MethodPost, "apps/new-application"}, {http.MethodPost, "apps"},
			{http.MethodPut, "apps/" + id + "/state"}, {http.MethodPut, "apps/" + id + "/queue"}} {
			h.do(c[0], "/ws/v1/cluster/"+c[1]+user, "{}", "Content-Type", asJSON).exception(t, http.StatusForbidden,
				"ForbiddenException",
				"java.lang.Exception: The default static user cannot carry out this operation.")
		}
	}
}

// TestChanges kills, moves and changes applications.
func TestChanges(t *testing.T) {
	h := newFixture(t)
	id := h.registered("").App
	at := "/ws/v1/cluster/apps/" + id.String() + "/"
	put := func(what, body string, headers ...string) reply {
		return h.do(http.MethodPut, at+what+"?user.name=ann", body, append([]string{"Content-Type", asJSON}, headers...)...)
	}
	put("priority", `{"priority":5}`).want(t, http.StatusOK, `{"priority":5}`)
	if h.record(id).Priority != 5 {
		t.Errorf("priority %d", h.record(id).Priority)
	}
	put("queue", `{"queue":"batch"}`).want(t, http.StatusOK, `{"queue":"batch"}`)
	if got := h.planner.State().Queues.Get(h.record(id).Queue).Path; got != "root.batch" {
		t.Errorf("it is in %s", got)
	}
	put("timeout", `{"timeout":{"type":"LIFETIME","expiryTime":"2030-01-01T00:00:00.000+0000"}}`).want(t, http.StatusOK,
		"LIFETIME", "2030-01-01T00:00:00.000+0000")
	h.do(http.MethodPut, at+"timeout?user.name=ann",
		`<timeout><type>LIFETIME</type><expiryTime>2031-01-01T00:00:00.000+0000</expiryTime></timeout>`,
		"Content-Type", asXML, "Accept", asXML).want(t, http.StatusOK, "<timeout><type>LIFETIME</type><expiryTime>2031")
	put("state", `{"state":"RUNNING"}`).want(t, http.StatusOK, `{"state":"RUNNING"}`) // it already has this state

	const badRequest = "BadRequestException"
	put("state", `{"state":"FINISHED"}`).exception(t, http.StatusBadRequest, badRequest,
		"Only 'KILLED' is allowed as a target state.")
	put("state", `nothing`).exception(t, http.StatusBadRequest, badRequest, "cannot be read")
	put("priority", `{}`).exception(t, http.StatusBadRequest, badRequest, "the priority is missing")
	put("queue", `{"queue":""}`).exception(t, http.StatusBadRequest, badRequest, "the queue is missing")
	// YARN does not say whether the queue is missing or forbidden
	put("queue", `{"queue":"nowhere"}`).exception(t, http.StatusForbidden, "ForbiddenException", "nowhere")
	put("timeout", `{"timeout":{"type":"LIFETIME"}}`).exception(t, http.StatusBadRequest, badRequest, "LIFETIME")
	put("timeout", `{"timeout":{"type":"LIFETIME","expiryTime":"tomorrow"}}`).exception(t, http.StatusBadRequest,
		badRequest, "tomorrow")
	put("color", `{}`).exception(t, http.StatusNotFound, "NotFoundException", "there is nothing at PUT")
	h.do(http.MethodPut, "/ws/v1/cluster/apps/application_1_0002/state?user.name=ann", "{}", "Content-Type",
		asJSON).exception(t, http.StatusNotFound, "NotFoundException",
		"java.lang.Exception: app with id: application_1_0002 not found")
	h.do(http.MethodPut, "/ws/v1/cluster/apps/mine/state?user.name=ann", "{}", "Content-Type", asJSON).exception(t,
		http.StatusBadRequest, badRequest, "mine")
	h.do(http.MethodDelete, at+"state?user.name=ann", "").exception(t, http.StatusNotFound, "NotFoundException", "DELETE")
	if r := h.do(http.MethodOptions, at+"state", "").want(t,
		http.StatusOK); !strings.Contains(r.Header.Get("Allow"), "PUT") {
		t.Errorf("Allow: %s", r.Header.Get("Allow"))
	}
	h.do(http.MethodPut, at+"state?user.name=eve", `{"state":"KILLED"}`, "Content-Type", asJSON).exception(t,
		http.StatusForbidden, "ForbiddenException", "eve")
	if h.record(id).Shown().Ended() {
		t.Fatal("a stranger has killed it")
	}
	h.do(http.MethodPut, at+"state?user.name=ann",
		`<appstate><state>KILLED</state><diagnostics>enough</diagnostics></appstate>`, "Content-Type", asXML).want(t,
		http.StatusOK, `{"state":"KILLED"}`)
	if a := h.record(id); a.Shown() != yarn.AppKilled || !strings.Contains(a.Details().Diagnostics, "enough") {
		t.Errorf("it is %s: %s", a.Shown(), a.Details().Diagnostics)
	}
}

// TestKillWhatHasEnded checks that a kill of an application that has ended answers with its final
// state.
func TestKillWhatHasEnded(t *testing.T) {
	h := newFixture(t)
	id := h.registered("")
	h.must(&input.FinishAttempt{Attempt: id, Final: yarn.FinalSucceeded})
	h.do(http.MethodPut, "/ws/v1/cluster/apps/"+id.App.String()+"/state?user.name=ann", `{"state":"KILLED"}`,
		"Content-Type", asJSON).want(t, http.StatusOK, `{"state":"FINISHED"}`)
}

func TestConfig(t *testing.T) {
	good := newFixture(t).svc.cfg
	for name, spoil := range map[string]func(*ServiceConfig){
		"logger": func(c *ServiceConfig) { c.Logger = nil }, "reader": func(c *ServiceConfig) { c.Reader = nil },
		"client": func(c *ServiceConfig) { c.Client = nil },
	} {
		c := good
		spoil(&c)
		if _, err := NewService(c); err == nil {
			t.Errorf("no %s, and it is taken", name)
		}
	}
}

// TestLargeBody checks that a body above the limit of one call, and one for which the replica has
// no room, are refused in Hadoop's format and change nothing.
func TestLargeBody(t *testing.T) {
	h := newFixture(t)
	id := h.app().App
	path := "/ws/v1/cluster/apps/" + id.String() + "/state?user.name=ann"
	kill := `{"state":"KILLED"}`
	h.do(http.MethodPut, path, kill+strings.Repeat(" ", bodyMax), "Content-Type", asJSON).want(t, http.StatusBadRequest,
		"BadRequestException", "request body too large")
	r := httptest.NewRequest(http.MethodPut, path,
		io.MultiReader(strings.NewReader(kill), iotest.ErrReader(problem.New(api.CodeBusy, "no room", "ask again"))))
	r.Header.Set("Content-Type", asJSON)
	w := httptest.NewRecorder()
	h.svc.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "StandbyException") ||
		!strings.Contains(w.Body.String(), "no room") {
		t.Errorf("a replica without room: %d %s", w.Code, w.Body)
	}
	if now := h.svc.shown(id); now != yarn.AppAccepted.String() {
		t.Errorf("the application is %s", now)
	}
	h.do(http.MethodPut, path, kill, "Content-Type", asJSON).want(t, http.StatusOK, "KILLED")
}
