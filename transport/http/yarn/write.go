package yarnweb

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"rmd/api"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/transport/http/auth"
	"rmd/transport/http/route"
	"rmd/transport/http/yarn/submission"
	"rmd/yarn"
)

const (
	bodyMax      = 4 << 20
	bodyTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
)

func bad(format string, args ...any) error { return wsBad(fmt.Sprintf(format, args...)) }

// serveWrite answers requests that change applications or labels.
func (s *Service) serveWrite(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions { // Hadoop's authenticating client sends OPTIONS first
		w.Header().Set("Allow", "OPTIONS,GET,HEAD,POST,PUT,DELETE")
		w.WriteHeader(http.StatusOK)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, wsRoot), "/"), "/")
	var err error
	switch write, path := labelWriteOf(r); {
	case write != nil:
		err = s.changeLabels(ctx, w, r, write, path)
	case r.Method == http.MethodPost && len(parts) == 2 && parts[0] == "apps" && parts[1] == "new-application":
		err = s.newApplication(ctx, w, r)
	case r.Method == http.MethodPost && len(parts) == 1 && parts[0] == "apps":
		err = s.submit(ctx, w, r)
	case r.Method == http.MethodPut && len(parts) == 3 && parts[0] == "apps":
		err = s.change(ctx, w, r, parts[1], parts[2])
	case parts[0] == "delegation-token":
		err = s.delegationToken(ctx, w, r)
	default:
		err = wsNotFound("there is nothing at " + r.Method + " " + r.URL.Path)
	}
	if err != nil {
		refuse(w, r, err)
	}
}

// caller returns a call of the caller. Hadoop's simple authentication trusts user.name. A caller
// without a name, or whose name is not believed, is YARN's static user, who may change nothing.
func caller(r *http.Request) (*ipc.Call, error) {
	if viewer(r) == defaultUser {
		return nil, wsForbidden("The default static user cannot carry out this operation.")
	}
	return callOf(r), nil
}

func callOf(r *http.Request) *ipc.Call {
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // zero if it cannot be parsed
	c := &ipc.Caller{User: viewer(r), Kind: ipc.KindSimple, Address: from}
	switch p := auth.Of(r); {
	case p.Delegated:
		c.Kind = ipc.KindToken
	case p.By == auth.ByKerberos:
		c.Kind = ipc.KindKerberos
	}
	return &ipc.Call{Caller: c}
}

// callerOrigin returns the scheme and host that the caller used.
func callerOrigin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (s *Service) newApplication(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	c, err := caller(r)
	if err != nil {
		return err
	}
	reply, err := s.cfg.Client.GetNewApplication(ctx, c, &proto.GetNewApplicationRequestProto{})
	if err != nil {
		return err
	}
	id, err := wire.ApplicationID(reply.GetApplicationId())
	if err != nil {
		return err
	}
	most := reply.GetMaximumCapability()
	return answer(w, r, http.StatusOK, struct {
		XMLName xml.Name            `json:"-" xml:"NewApplication"`
		ID      string              `json:"application-id" xml:"application-id"`
		Maximum submission.Resource `json:"maximum-resource-capability" xml:"maximum-resource-capability"`
	}{ID: id.String(), Maximum: submission.Resource{Memory: most.GetMemory(), VCores: most.GetVirtualCores()}})
}

func (s *Service) submit(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	c, err := caller(r)
	if err != nil {
		return err
	}
	var doc submission.Document
	if err := read(w, r, &doc); err != nil {
		return err
	}
	context, err := doc.Context()
	if err != nil {
		return bad("%v", err)
	}
	if err := s.cfg.Client.SubmitApplication(ctx, c,
		&proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: context}); err != nil {
		return err
	}
	w.Header().Set("Location", callerOrigin(r)+wsRoot+"/apps/"+doc.ID)
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// change answers PUT /apps/ID/state, queue, priority or timeout.
func (s *Service) change(ctx context.Context, w http.ResponseWriter, r *http.Request, name, what string) error {
	c, err := caller(r)
	if err != nil {
		return err
	}
	id, err := yarn.ParseApplicationID(name)
	if err != nil {
		return bad("Invalid ApplicationId: %s", name)
	}
	switch _, slot, err := s.application(ctx, id); {
	case err != nil:
		return err
	case slot == 0:
		return wsNotFound("app with id: " + name + " not found")
	}
	switch what {
	case "state":
		return s.setState(ctx, c, w, r, id)
	case "queue":
		return s.setQueue(ctx, c, w, r, id)
	case "priority":
		return s.setPriority(ctx, c, w, r, id)
	case "timeout":
		return s.setTimeout(ctx, c, w, r, id)
	}
	return wsNotFound("there is nothing at " + r.Method + " " + r.URL.Path)
}

type stateDoc struct {
	XMLName     xml.Name `json:"-" xml:"appstate"`
	State       string   `json:"state" xml:"state"`
	Diagnostics string   `json:"diagnostics,omitempty" xml:"diagnostics,omitempty"`
}

func (s *Service) setState(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request,
	id yarn.ApplicationID) error {
	var doc stateDoc
	if err := read(w, r, &doc); err != nil {
		return err
	}
	now := s.shown(id)
	if doc.State == now {
		return answer(w, r, http.StatusOK, stateDoc{State: now})
	}
	if doc.State != yarn.AppKilled.String() {
		return bad("Only 'KILLED' is allowed as a target state.")
	}
	reply, err := s.cfg.Client.ForceKillApplication(ctx, c,
		&proto.KillApplicationRequestProto{ApplicationId: wire.ApplicationIDProto(id),
			Diagnostics: wire.Optional(doc.Diagnostics)})
	if err != nil {
		return err
	}
	now = s.shown(id) // an application that had ended before keeps its state
	if reply.GetIsKillCompleted() {
		return answer(w, r, http.StatusOK, stateDoc{State: now})
	}
	w.Header().Set("Location", callerOrigin(r)+r.URL.Path)
	return answer(w, r, http.StatusAccepted, stateDoc{State: now})
}

// shown returns the state of an application, or "" if the cluster has forgotten it in the meantime.
func (s *Service) shown(id yarn.ApplicationID) string {
	st := s.cfg.Reader.Fork()
	if slot := st.Apps.ByID(id); slot != 0 {
		return st.Apps.Get(slot).Shown().String()
	}
	return ""
}

func (s *Service) setQueue(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request,
	id yarn.ApplicationID) error {
	var doc struct {
		XMLName xml.Name `json:"-" xml:"appqueue"`
		Queue   string   `json:"queue" xml:"queue"`
	}
	if err := read(w, r, &doc); err != nil {
		return err
	}
	if doc.Queue == "" {
		return bad("the queue is missing")
	}
	_, err := s.cfg.Client.MoveApplicationAcrossQueues(ctx, c,
		&proto.MoveApplicationAcrossQueuesRequestProto{ApplicationId: wire.ApplicationIDProto(id), TargetQueue: &doc.Queue})
	if err != nil {
		return err
	}
	return answer(w, r, http.StatusOK, doc)
}

func (s *Service) setPriority(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request,
	id yarn.ApplicationID) error {
	var doc struct {
		XMLName  xml.Name `json:"-" xml:"applicationpriority"`
		Priority *int32   `json:"priority" xml:"priority"`
	}
	if err := read(w, r, &doc); err != nil {
		return err
	}
	if doc.Priority == nil {
		return bad("the priority is missing")
	}
	reply, err := s.cfg.Client.UpdateApplicationPriority(ctx, c, &proto.UpdateApplicationPriorityRequestProto{
		ApplicationId: wire.ApplicationIDProto(id), ApplicationPriority: wire.PriorityProto(*doc.Priority)})
	if err != nil {
		return err
	}
	granted := reply.GetApplicationPriority().GetPriority()
	doc.Priority = &granted
	return answer(w, r, http.StatusOK, doc)
}

func (s *Service) setTimeout(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request,
	id yarn.ApplicationID) error {
	var doc struct {
		XMLName xml.Name `json:"-" xml:"timeout"`
		Timeout struct {
			Type   string `json:"type" xml:"-"`
			Expiry string `json:"expiryTime" xml:"-"`
		} `json:"timeout" xml:"-"`
		Type   string `json:"-" xml:"type"`
		Expiry string `json:"-" xml:"expiryTime"`
	}
	if err := read(w, r, &doc); err != nil {
		return err
	}
	if doc.Timeout.Type == "" {
		doc.Timeout.Type, doc.Timeout.Expiry = doc.Type, doc.Expiry
	}
	if doc.Timeout.Type != "LIFETIME" || doc.Timeout.Expiry == "" {
		return bad("Timeout type %q with expiry time %q: give LIFETIME and a time as ISO 8601 writes it", doc.Timeout.Type,
			doc.Timeout.Expiry)
	}
	req := &proto.UpdateApplicationTimeoutsRequestProto{ApplicationId: wire.ApplicationIDProto(id),
		ApplicationTimeouts: []*proto.ApplicationUpdateTimeoutMapProto{
			{ApplicationTimeoutType: proto.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(),
				ExpireTime: &doc.Timeout.Expiry}}}
	if _, err := s.cfg.Client.UpdateApplicationTimeouts(ctx, c, req); err != nil {
		return err
	}
	doc.Type, doc.Expiry = doc.Timeout.Type, doc.Timeout.Expiry
	return answer(w, r, http.StatusOK, doc)
}

// read decodes a JSON or XML document.
func read(w http.ResponseWriter, r *http.Request, v any) error {
	// the ResponseRecorder of tests has no deadlines
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if busy := (*api.Error)(nil); errors.As(err, &busy) {
		return err // makes Hadoop's clients try another replica
	}
	if err != nil {
		return bad("the body could not be read: %v", err)
	}
	switch media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); { // an invalid media type is refused below
	case strings.HasSuffix(media, "/xml"):
		if err = route.CheckTags(b); err == nil {
			err = xml.Unmarshal(b, v)
		}
	case strings.HasSuffix(media, "/json"):
		if err = route.CheckDepth(b); err == nil {
			err = json.NewDecoder(bytes.NewReader(b)).Decode(v)
		}
	default: // as in YARN; this also refuses forms of other sites' pages
		return &remoteError{http.StatusUnsupportedMediaType, webApplication,
			causedByException + "Unsupported Media Type: send application/json or application/xml"}
	}
	if err != nil {
		return bad("the document cannot be read: %v", err)
	}
	return nil
}

// answer writes a document as JSON, or as XML if the caller prefers it.
func answer(w http.ResponseWriter, r *http.Request, status int, doc any) error {
	write, media := json.Marshal, "application/json;charset=utf-8"
	if wantsXML(r) {
		write, media = xml.Marshal, "application/xml;charset=utf-8"
	}
	b, err := write(doc)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
	return nil
}

// refuse answers with an error in Hadoop's format.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	remote := &remoteError{http.StatusServiceUnavailable, ipc.ClassStandby, err.Error()}
	var e *ipc.Error
	if !errors.As(err, &remote) && errors.As(err, &e) {
		remote = remoteErrorOfCall(e)
	}
	writeRemote(w, r, remote)
}

// remoteErrorOfCall returns the error of Hadoop's web services for an error of the client protocol.
func remoteErrorOfCall(e *ipc.Error) *remoteError {
	status := statusOf(e)
	if class, ok := classes[status]; ok && status != http.StatusServiceUnavailable {
		return &remoteError{status, class, causedByException + e.Message}
	}
	return &remoteError{status, e.Class, e.Message}
}

func statusOf(e *ipc.Error) int {
	switch {
	case e.Class == ipc.ClassStandby:
		return http.StatusServiceUnavailable
	case strings.Contains(e.Class+e.Message, "AccessControlException"):
		return http.StatusForbidden
	case strings.HasSuffix(e.Class, "NotFoundException"):
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}
