package client

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// hostTimeout limits the lookup of the client's host name. The submission waits for it.
const hostTimeout = 2 * time.Second

// preprocess changes a submission by its client's host before it is checked and placed. The context
// that is stored for the AM does not change.
func (s *Service) preprocess(ctx context.Context, c *ipc.Caller, sub *proto.ApplicationSubmissionContextProto) {
	host := func() string { return hostName(ctx, c.Address.Addr()) }
	label, queue, tag := s.cfg.Queues.Preprocess(s.cfg.Reader.Fork(), host)
	if label != "" {
		sub.NodeLabelExpression = &label
	}
	if queue != "" {
		sub.Queue = &queue
	}
	if tag != "" {
		sub.ApplicationTags = append(sub.ApplicationTags, tag)
	}
}

// hostName returns the first name of an address, or the address itself if it has none, as Java
// does.
func hostName(ctx context.Context, addr netip.Addr) string {
	text := addr.Unmap().WithZone("").String()
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	names, err := net.DefaultResolver.LookupAddr(ctx, text)
	if err != nil || len(names) == 0 {
		return text
	}
	return strings.TrimSuffix(names[0], ".")
}
