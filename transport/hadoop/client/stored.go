package client

import (
	"google.golang.org/protobuf/encoding/protowire"

	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// Fields of a stored submission context that reports need. A context may have a hundred kilobytes
// of environment and resources, and a list may have ten thousand applications. Therefore these
// fields are found without decoding the rest.
const (
	fieldLaunch = 5  // ApplicationSubmissionContextProto.am_container_spec
	fieldLabel  = 16 // ApplicationSubmissionContextProto.node_label_expression
	fieldACLs   = 6  // ContainerLaunchContextProto.application_ACLs
)

// fields calls f for each length-delimited field with a number. It stops at the first malformed
// byte.
func fields(b []byte, number protowire.Number, f func(v []byte)) {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		if num == number && kind == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return
			}
			f(v)
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, kind, b); n < 0 {
			return
		}
		b = b[n:]
	}
}

// contextLabel returns the application's node label expression, or nil if it is not set.
func contextLabel(context []byte) *string {
	var out *string
	fields(context, fieldLabel, func(v []byte) { out = new(string(v)) })
	return out
}

// contextACLs returns the application's own ACLs.
func contextACLs(context []byte) wire.ACLs {
	var list []*proto.ApplicationACLMapProto
	fields(context, fieldLaunch, func(launch []byte) {
		fields(launch, fieldACLs, func(v []byte) {
			m := new(proto.ApplicationACLMapProto)
			if bounded.Unmarshal(v, m) == nil {
				list = append(list, m)
			}
		})
	})
	return wire.ApplicationACLs(list)
}
