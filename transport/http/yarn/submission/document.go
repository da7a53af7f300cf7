// Package submission reads the document with which clients of YARN's REST API submit an application.
package submission

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/transport/http/yarn/list"
	"rmd/yarn"
)

// Document is YARN's document for POST /ws/v1/cluster/apps.
type Document struct {
	XMLName        xml.Name    `json:"-" xml:"application-submission-context"`
	ID             string      `json:"application-id" xml:"application-id"`
	Name           string      `json:"application-name" xml:"application-name"`
	Queue          string      `json:"queue" xml:"queue"`
	Priority       *int32      `json:"priority" xml:"priority"`
	Container      launch      `json:"am-container-spec" xml:"am-container-spec"`
	Unmanaged      bool        `json:"unmanaged-AM" xml:"unmanaged-AM"`
	CancelTokens   *bool       `json:"cancel-tokens-when-complete" xml:"cancel-tokens-when-complete"`
	MaxAttempts    int32       `json:"max-app-attempts" xml:"max-app-attempts"`
	Resource       *Resource   `json:"resource" xml:"resource"`
	Type           string      `json:"application-type" xml:"application-type"`
	KeepContainers bool        `json:"keep-containers-across-application-attempts" xml:"keep-containers-across-application-attempts"`
	Tags           tags        `json:"application-tags" xml:"application-tags"`
	NodeLabel      string      `json:"app-node-label-expression" xml:"app-node-label-expression"`
	AMNodeLabel    string      `json:"am-container-node-label-expression" xml:"am-container-node-label-expression"`
	Logs           *logContext `json:"log-aggregation-context" xml:"log-aggregation-context"`
	Validity       *int64      `json:"attempt-failures-validity-interval" xml:"attempt-failures-validity-interval"`
	Reservation    string      `json:"reservation-id" xml:"reservation-id"`
}

type launch struct {
	Resources   entries[localResource] `json:"local-resources" xml:"local-resources"`
	Environment entries[string]        `json:"environment" xml:"environment"`
	Commands    commands               `json:"commands" xml:"commands"`
	ServiceData entries[string]        `json:"service-data" xml:"service-data"`
	Credentials struct {
		Tokens  entries[string] `json:"tokens" xml:"tokens"`
		Secrets entries[string] `json:"secrets" xml:"secrets"`
	} `json:"credentials" xml:"credentials"`
	ACLs entries[string] `json:"application-acls" xml:"application-acls"`
}

type localResource struct {
	URL        string `json:"resource" xml:"resource"`
	Type       string `json:"type" xml:"type"`
	Visibility string `json:"visibility" xml:"visibility"`
	Size       int64  `json:"size" xml:"size"`
	Timestamp  int64  `json:"timestamp" xml:"timestamp"`
	Pattern    string `json:"pattern" xml:"pattern"`
}

// Resource is an amount of memory, in MiB, and of vcores.
type Resource struct {
	Memory int64 `json:"memory" xml:"memory"`
	VCores int32 `json:"vCores" xml:"vCores"`
}

type logContext struct {
	Include       string `json:"log-include-pattern" xml:"log-include-pattern"`
	Exclude       string `json:"log-exclude-pattern" xml:"log-exclude-pattern"`
	RolledInclude string `json:"rolled-log-include-pattern" xml:"rolled-log-include-pattern"`
	RolledExclude string `json:"rolled-log-exclude-pattern" xml:"rolled-log-exclude-pattern"`
	Policy        string `json:"log-aggregation-policy-class-name" xml:"log-aggregation-policy-class-name"`
	Parameters    string `json:"log-aggregation-policy-parameters" xml:"log-aggregation-policy-parameters"`
}

type commands struct {
	Command list.Of[string] `json:"command" xml:"command"`
}

type tags struct {
	Tag list.Of[string] `json:"tag" xml:"tag"`
}

// entries is a Java map: {"entry":[{"key":…,"value":…}]}.
type entries[T any] struct {
	Entry list.Of[entry[T]] `json:"entry" xml:"entry"`
}

type entry[T any] struct {
	Key   string `json:"key" xml:"key"`
	Value T      `json:"value" xml:"value"`
}

// Context returns the submission context that a client of the client protocol would send.
func (d *Document) Context() (*proto.ApplicationSubmissionContextProto, error) {
	id, err := yarn.ParseApplicationID(d.ID)
	if err != nil {
		//lint:ignore ST1005 YARN's words
		return nil, fmt.Errorf("Could not parse application id %s", d.ID)
	}
	container, err := d.Container.context()
	if err != nil {
		return nil, err
	}
	out := &proto.ApplicationSubmissionContextProto{
		ApplicationId: wire.ApplicationIDProto(id), ApplicationName: wire.Optional(d.Name), Queue: wire.Optional(d.Queue),
		AmContainerSpec:          container,
		CancelTokensWhenComplete: d.CancelTokens, UnmanagedAm: &d.Unmanaged, MaxAppAttempts: &d.MaxAttempts,
		ApplicationType:                         wire.Optional(d.Type),
		KeepContainersAcrossApplicationAttempts: &d.KeepContainers, ApplicationTags: d.Tags.Tag,
		AttemptFailuresValidityInterval: d.Validity,
		NodeLabelExpression:             wire.Optional(d.NodeLabel),
	}
	if d.Priority != nil {
		out.Priority = wire.PriorityProto(*d.Priority)
	}
	if d.Resource != nil {
		out.Resource = &proto.ResourceProto{Memory: &d.Resource.Memory, VirtualCores: &d.Resource.VCores}
	}
	if d.AMNodeLabel != "" && d.Resource != nil { // YARN then makes a request for the AM itself
		out.AmContainerResourceRequest = []*proto.ResourceRequestProto{
			{Priority: wire.PriorityProto(0), ResourceName: new(yarn.Any), NumContainers: new(int32(1)),
				Capability: out.Resource, NodeLabelExpression: &d.AMNodeLabel}}
	}
	if l := d.Logs; l != nil {
		out.LogAggregationContext = &proto.LogAggregationContextProto{IncludePattern: wire.Optional(l.Include),
			ExcludePattern:           wire.Optional(l.Exclude),
			RolledLogsIncludePattern: wire.Optional(l.RolledInclude), RolledLogsExcludePattern: wire.Optional(l.RolledExclude),
			LogAggregationPolicyClassName: wire.Optional(l.Policy), LogAggregationPolicyParameters: wire.Optional(l.Parameters)}
	}
	return out, nil
}

func (l *launch) context() (*proto.ContainerLaunchContextProto, error) {
	out := &proto.ContainerLaunchContextProto{Command: l.Commands.Command}
	for _, e := range l.Environment.Entry {
		out.Environment = append(out.Environment, &proto.StringStringMapProto{Key: &e.Key, Value: &e.Value})
	}
	for _, e := range l.Resources.Entry {
		r, err := e.Value.proto()
		if err != nil {
			return nil, fmt.Errorf("local resource %s: %w", e.Key, err)
		}
		out.LocalResources = append(out.LocalResources, &proto.StringLocalResourceMapProto{Key: &e.Key, Value: r})
	}
	for _, e := range l.ServiceData.Entry {
		data, err := decode64(e.Value)
		if err != nil {
			return nil, fmt.Errorf("service data of %s: %w", e.Key, err)
		}
		out.ServiceData = append(out.ServiceData, &proto.StringBytesMapProto{Key: &e.Key, Value: data})
	}
	for _, e := range l.ACLs.Entry {
		kind, ok := proto.ApplicationAccessTypeProto_value["APPACCESS_"+e.Key]
		if !ok {
			return nil, fmt.Errorf("%q is not VIEW_APP or MODIFY_APP", e.Key)
		}
		out.Application_ACLs = append(out.Application_ACLs,
			&proto.ApplicationACLMapProto{AccessType: proto.ApplicationAccessTypeProto(kind).Enum(), Acl: &e.Value})
	}
	return out, l.credentials(out)
}

// credentials adds the tokens, which are in Hadoop's URL form, and the secrets.
func (l *launch) credentials(out *proto.ContainerLaunchContextProto) error {
	if len(l.Credentials.Tokens.Entry) == 0 && len(l.Credentials.Secrets.Entry) == 0 {
		return nil
	}
	c := &token.Credentials{}
	for _, e := range l.Credentials.Tokens.Entry {
		t, err := token.FromURLString(e.Value)
		if err != nil {
			//lint:ignore ST1005 YARN's words
			return fmt.Errorf("Could not parse credentials data. Exception message = %w", err)
		}
		c.AddToken(e.Key, t)
	}
	for _, e := range l.Credentials.Secrets.Entry {
		secret, err := decode64(e.Value)
		if err != nil {
			return fmt.Errorf("secret %s: %w", e.Key, err)
		}
		c.Secrets = append(c.Secrets, token.Secret{Alias: e.Key, Bytes: secret})
	}
	out.Tokens = c.Bytes()
	return nil
}

func (r *localResource) proto() (*proto.LocalResourceProto, error) {
	u, err := url.Parse(r.URL)
	if err != nil || r.URL == "" {
		return nil, fmt.Errorf("%q is not a URL", r.URL)
	}
	kind, ok := proto.LocalResourceTypeProto_value[r.Type]
	seen, ok2 := proto.LocalResourceVisibilityProto_value[r.Visibility]
	if !ok || !ok2 {
		return nil, fmt.Errorf("type %q, visibility %q: one of them is not YARN's", r.Type, r.Visibility)
	}
	if r.Size <= 0 || r.Timestamp <= 0 {
		return nil, fmt.Errorf("size and timestamp must be greater than 0")
	}
	port := int32(-1)
	if p, err := strconv.ParseInt(u.Port(), 10, 32); err == nil {
		port = int32(p)
	}
	out := &proto.LocalResourceProto{Resource: &proto.URLProto{Scheme: wire.Optional(u.Scheme),
		Host: wire.Optional(u.Hostname()), Port: &port, File: wire.Optional(u.Path)},
		Size: &r.Size, Timestamp: &r.Timestamp, Type: proto.LocalResourceTypeProto(kind).Enum(),
		Visibility: proto.LocalResourceVisibilityProto(seen).Enum(), Pattern: wire.Optional(r.Pattern)}
	if u.User != nil {
		out.Resource.UserInfo = wire.Optional(u.User.String())
	}
	return out, nil
}

// decode64 decodes base64 of either alphabet, as Hadoop's decoder does.
func decode64(text string) ([]byte, error) {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "").Replace(text), "=")
	return base64.RawStdEncoding.DecodeString(text)
}
