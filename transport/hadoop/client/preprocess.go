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

// hostTimeout bounds the search for the name of a client's host: its submission waits.
const hostTimeout = 2 * time.Second

// preprocess changes a submission by its client's host, before anything is checked or placed. What
// is stored for the AM stays as it came.
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

// hostName is the first name of an address; the address itself where it has none, as in Java.
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
