package yarnweb

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"strings"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/transport/http/yarn/list"
)

// Admin has the calls of ResourceManagerAdministrationProtocol that are also available over HTTP.
// admin.Service implements it.
type Admin interface {
	AddToClusterNodeLabels(context.Context, *ipc.Call,
		*proto.AddToClusterNodeLabelsRequestProto) (*proto.AddToClusterNodeLabelsResponseProto, error)
	RemoveFromClusterNodeLabels(context.Context, *ipc.Call,
		*proto.RemoveFromClusterNodeLabelsRequestProto) (*proto.RemoveFromClusterNodeLabelsResponseProto, error)
	ReplaceLabelsOnNode(context.Context, *ipc.Call,
		*proto.ReplaceLabelsOnNodeRequestProto) (*proto.ReplaceLabelsOnNodeResponseProto, error)
}

// labelWrite is a handler that changes labels.
type labelWrite func(s *Service, ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request) error

// labelWriteOf returns the handler for a request that changes labels, and YARN's name of the path.
// It returns nil for other requests.
func labelWriteOf(r *http.Request) (labelWrite, string) {
	if r.Method != http.MethodPost {
		return nil, ""
	}
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, wsRoot), "/"), "/")
	switch {
	case len(parts) == 3 && parts[0] == "nodes" && parts[2] == "replace-labels":
		return (*Service).labelNode, ".../nodes/nodeid/replace-labels"
	case len(parts) != 1:
	case parts[0] == "add-node-labels":
		return (*Service).addLabels, ".../add-node-labels "
	case parts[0] == "remove-node-labels":
		return (*Service).removeLabels, ".../remove-node-labels "
	case parts[0] == "replace-node-to-labels":
		return (*Service).labelNodes, ".../replace-node-to-labels"
	}
	return nil, ""
}

// ForAdministrators reports whether only administrators of the cluster may make a request.
func ForAdministrators(r *http.Request) bool {
	write, _ := labelWriteOf(r)
	return Owns(r.URL.Path) && write != nil
}

// changeLabels answers a change of labels. As in YARN, the static user may make the change if
// yarn.admin.acl allows it.
func (s *Service) changeLabels(ctx context.Context, w http.ResponseWriter, r *http.Request, write labelWrite,
	path string) error {
	c := callOf(r)
	err := write(s, ctx, c, w, r)
	var e *ipc.Error
	if err == nil {
		w.Header().Set("Content-Type", jsonType)
		return nil
	}
	if !errors.As(err, &e) || e.Class == ipc.ClassStandby {
		return err
	}
	text, io := strings.CutPrefix(e.Message, "java.io.IOException: ")
	switch {
	case strings.Contains(e.Message, "AccessControlException"):
		return &remoteError{http.StatusUnauthorized, "org.apache.hadoop.security.authorize.AuthorizationException",
			"User " + c.Caller.User + " not authorized for post to " + path}
	case io && strings.HasSuffix(text, "centralized node label configuration is not enabled."):
		return &remoteError{http.StatusNotFound, "java.io.IOException", text}
	}
	return wsBadCause(e.Message)
}

// exclusivity is a bool that Hadoop's clients write as a bool or as a text.
type exclusivity bool

func (x *exclusivity) UnmarshalJSON(b []byte) error {
	*x = exclusivity(strings.EqualFold(strings.Trim(string(b), `"`), "true"))
	return nil
}

func (s *Service) addLabels(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request) error {
	var doc struct {
		XMLName xml.Name `json:"-" xml:"nodeLabelsInfo"`
		Labels  list.Of[struct {
			Name      string      `json:"name" xml:"name"`
			Exclusive exclusivity `json:"exclusivity" xml:"exclusivity"`
		}] `json:"nodeLabelInfo" xml:"nodeLabelInfo"`
	}
	if err := read(w, r, &doc); err != nil {
		return err
	}
	req := &proto.AddToClusterNodeLabelsRequestProto{}
	for _, l := range doc.Labels {
		req.NodeLabels = append(req.NodeLabels, &proto.NodeLabelProto{Name: &l.Name, IsExclusive: new(bool(l.Exclusive))})
	}
	_, err := s.cfg.Admin.AddToClusterNodeLabels(ctx, c, req)
	return err
}

func (s *Service) removeLabels(ctx context.Context, c *ipc.Call, _ http.ResponseWriter, r *http.Request) error {
	_, err := s.cfg.Admin.RemoveFromClusterNodeLabels(ctx, c,
		&proto.RemoveFromClusterNodeLabelsRequestProto{NodeLabels: r.URL.Query()["labels"]})
	return err
}

// labelNode replaces the labels of the host or node in the path.
func (s *Service) labelNode(ctx context.Context, c *ipc.Call, _ http.ResponseWriter, r *http.Request) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, wsRoot+"/nodes/"), "/")
	return s.replaceLabels(ctx, c, []nodeToLabels{{name, r.URL.Query()["labels"]}})
}

// nodeToLabels is a host or node with its labels.
type nodeToLabels struct {
	Node   string          `json:"nodeId" xml:"nodeId"`
	Labels list.Of[string] `json:"labels" xml:"labels"`
}

func (s *Service) labelNodes(ctx context.Context, c *ipc.Call, w http.ResponseWriter, r *http.Request) error {
	var doc struct {
		XMLName xml.Name              `json:"-" xml:"nodeToLabelsName"`
		Nodes   list.Of[nodeToLabels] `json:"nodeToLabels" xml:"nodeToLabels"`
	}
	if err := read(w, r, &doc); err != nil {
		return err
	}
	return s.replaceLabels(ctx, c, doc.Nodes)
}

func (s *Service) replaceLabels(ctx context.Context, c *ipc.Call, nodes []nodeToLabels) error {
	req := &proto.ReplaceLabelsOnNodeRequestProto{}
	for _, n := range nodes {
		id, err := parseHost(n.Node)
		if err != nil {
			return err
		}
		req.NodeToLabels = append(req.NodeToLabels,
			&proto.NodeIdToLabelsProto{NodeId: wire.NodeIDProto(id), NodeLabels: n.Labels})
	}
	_, err := s.cfg.Admin.ReplaceLabelsOnNode(ctx, c, req)
	return err
}
