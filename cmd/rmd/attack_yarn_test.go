package main

import (
	"bytes"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/transport/hadoop/proto"
)

// Allowed answers of YARN's ports to invalid requests. Where the text does not matter, only the
// class.
const (
	denied       = `AccessControlException`
	cutOffAll    = `(?s)\(closed\) \| .*\(closed\) \| .*\(closed\) \| .*\(closed\)$` // at all four ports
	fatalAll     = `(?s)(Exception|Mismatch).*\(closed\) \| .*\(closed\) \| .*\(closed\) \| .*\(closed\)$`
	badArgument  = `IllegalArgumentException|YarnException|InvalidResourceRequestException|RpcServerException|IOException`
	badResource  = `InvalidResourceRequestException|give at most`
	badToken     = `InvalidToken|SaslException`
	noSuchThing  = `ApplicationNotFoundException|ApplicationAttemptNotFoundException|ContainerNotFoundException|YarnException|AccessControlException`
	noSuchMethod = `RpcNoSuchMethodException`
	noProtocol   = `RpcNoSuchProtocolException`
)

// hostileWire returns inputs for each of YARN's four ports.
func hostileWire() []hostile {
	return []hostile{
		{"HTTP", `speaks Hadoop IPC(?s:.*)\(closed\)$`, everyRaw([]byte("GET / HTTP/1.1\r\n\r\n"))},
		{"TLS", fatalAll, everyRaw([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))},
		{"an old version", fatalAll, everyRaw([]byte("hrpc\x04\x00\x00"))},
		{"a way to authenticate that does not exist", fatalAll, everyRaw([]byte("hrpc\x09\x00\x55"))},
		{"a frame of 2 GB first", cutOffAll, everyRaw([]byte("hrpc\x09\x00\xdf\x7f\xff\xff\xff"))},
		{"a frame of 4 GB first", cutOffAll, everyRaw([]byte("hrpc\x09\x00\xdf\xff\xff\xff\xff"))},
		{"an empty frame first", cutOffAll, everyRaw([]byte("hrpc\x09\x00\xdf\x00\x00\x00\x00"))},
		{"a number that never ends", cutOffAll, everyRaw([]byte("hrpc\x09\x00\xdf"), framed(bytes.Repeat([]byte{0xff}, 32)))},
		{"groups 60,000 deep", cutOffAll, everyRaw([]byte("hrpc\x09\x00\xdf"), framed(bytes.Repeat([]byte{0x0b}, 60000)))},
		{"an end of a group that never began", cutOffAll,
			everyRaw([]byte("hrpc\x09\x00\xdf"), framed([]byte{2, 0x0c, 0x0c}))},
		{"a client id of 4 MB", cutOffAll, everyRaw([]byte("hrpc\x09\x00\xdf"),
			framed(delimited(field(4, bytes.Repeat([]byte{7}, 4<<20)))))},
		{"a call before anything else", cutOffAll, everyRaw([]byte("hrpc\x09\x00\xdf"), message(1, []byte("x")))},
		{"SASL: an answer without a question", fatalAll, everyRaw([]byte("hrpc\x09\x00\xdf"), sasl(3, []byte("proof")))},
		{"SASL: success said by the client", fatalAll, everyRaw([]byte("hrpc\x09\x00\xdf"), sasl(0, nil))},
		{"SASL: wrapped data", fatalAll, everyRaw([]byte("hrpc\x09\x00\xdf"), sasl(5, []byte("wrapped")))},
		{"SASL: negotiated twice", `Exception.*\(closed\)$`,
			frames(masterPort, []byte("hrpc\x09\x00\xdf"), sasl(1, nil), sasl(1, nil))},
		{"SASL: a proof of noise", fatalAll, everySasl("digest-uri=\x00\xff")},
		{"SASL: a proof of 60 KB", fatalAll, everySasl(strings.Repeat(`username="a",`, 4000))},
		{"SASL: a state beyond all", fatalAll, everyRaw([]byte("hrpc\x09\x00\xdf"), sasl(99, nil))},
		{"an introduction that is no message", `Exception.*\(closed\)$`,
			frames(clientPort, []byte("hrpc\x09\x00\x00"), message(-3, []byte("\x0a\xff\xff\xff\xff\x0f")))},
		{"an introduction without a name", `does not say who(?s:.*)\(closed\)$`,
			frames(clientPort, []byte("hrpc\x09\x00\x00"), message(-3, nil))},
		{"an introduction before the token is proven", `before the end of the SASL(?s:.*)\(closed\)$`,
			frames(masterPort, []byte("hrpc\x09\x00\xdf"), message(-3, nil))},
		{"two introductions", `was sent before(?s:.*)\(closed\)$`,
			frames(clientPort, hello(clientProtocol), message(-3, nil))},
		{"a frame of 256 MB", `\(closed\)$`, frames(clientPort, hello(clientProtocol), []byte{0x10, 0, 0, 0})},
		{"a header that ends too soon", `\(closed\)$`, frames(clientPort, hello(clientProtocol), framed([]byte{0x7f, 1}))},
		{"a serialization that is not offered", `Exception|\(closed\)$`,
			frames(clientPort, hello(clientProtocol), framed(delimited([]byte{0x08, 1, 0x10, 0, 0x18, 0, 0x22, 1, 7})))},
		{"another name in the introduction than in the token", denied + `|Exception`,
			frames(masterPort, []byte("hrpc\x09\x00\x00"), message(-3, nil))},
		{"an introduction of 30,000 users", `message too large(?s:.*)\(closed\)$`,
			frames(clientPort, []byte("hrpc\x09\x00\x00"), message(-3, bytes.Repeat(field(2, nil), 30000)))},
		{"SASL: 20,000 ways to authenticate", cutOffAll,
			everyRaw([]byte("hrpc\x09\x00\xdf"), message(-33, append([]byte{0x10, 1}, bytes.Repeat(field(4, nil), 20000)...)))},
		{"a submission whose context comes 1.9 million times", `message too large`,
			frames(clientPort, hello(clientProtocol),
				requestOf(clientProtocol, "submitApplication", bytes.Repeat(field(1, nil), 1900000)))},
		{"1.9 million empty users in a list", `message too large`,
			frames(clientPort, hello(clientProtocol),
				requestOf(clientProtocol, "getApplications", bytes.Repeat(field(3, nil), 1900000)))},
		{"a user with a NUL", `has the character U\+0000(?s:.*)\(closed\)$`,
			frames(clientPort, []byte("hrpc\x09\x00\x00"), message(-3, field(2, field(1, []byte("ma\x00llory")))))},
		{"a user that is a path", `is a path(?s:.*)\(closed\)$`,
			frames(clientPort, []byte("hrpc\x09\x00\x00"), message(-3, field(2, field(1, []byte("../mallory")))))},
		{"a user that is not UTF-8", `is not UTF-8(?s:.*)\(closed\)$`,
			frames(clientPort, []byte("hrpc\x09\x00\x00"), message(-3, field(2, field(1, []byte("mallory\xff")))))},
		{"an impersonation that nobody allowed", `not allowed to impersonate`,
			frames(clientPort, []byte("hrpc\x09\x00\x00"),
				message(-3, field(2, append(field(1, []byte("yarn")), field(2, []byte("mallory"))...))))},
	}
}

// hostileClient returns calls of hostile clients.
func hostileClient() []hostile {
	return []hostile{
		{"a method that does not exist", noSuchMethod,
			rpc(clientPort, "mallory", "shutDown", &proto.RefreshQueuesRequestProto{}, "")},
		{"the protocol of nodes", noProtocol, rpc(yarnPort{clientPort.address, trackerProtocol}, "mallory",
			"registerNodeManager", &proto.RegisterNodeManagerRequestProto{}, "")},
		{"the protocol of administrators", noProtocol,
			rpc(yarnPort{clientPort.address, adminProtocol}, "yarn", "refreshQueues", &proto.RefreshQueuesRequestProto{}, "")},
		{"another's application killed", denied,
			rpc(clientPort, "mallory", "forceKillApplication", &proto.KillApplicationRequestProto{}, "application_id <{ann}>")},
		{"another's application moved", denied, rpc(clientPort, "mallory", "moveApplicationAcrossQueues",
			&proto.MoveApplicationAcrossQueuesRequestProto{}, `application_id <{ann}> target_queue: "b"`)},
		{"another's application made urgent", denied,
			rpc(clientPort, "mallory", "updateApplicationPriority", &proto.UpdateApplicationPriorityRequestProto{},
				`applicationId <{ann}> applicationPriority <priority: 9>`)},
		{"another's application given an end", denied,
			rpc(clientPort, "mallory", "updateApplicationTimeouts", &proto.UpdateApplicationTimeoutsRequestProto{},
				`applicationId <{ann}> application_timeouts <application_timeout_type: APP_TIMEOUT_LIFETIME expire_time: "2038-01-01T00:00:00.000+0000">`)},
		{"another's attempt failed", denied, rpc(clientPort, "mallory", "failApplicationAttempt",
			&proto.FailApplicationAttemptRequestProto{}, "application_attempt_id <application_id <{ann}> attemptId: 1>")},
		{"another's container signalled", denied,
			rpc(clientPort, "mallory", "signalToContainer", &proto.SignalContainerRequestProto{},
				"container_id <app_attempt_id <application_id <{ann}> attemptId: 1> id: 1> command: FORCEFUL_SHUTDOWN")},
		{"an application of another cluster", noSuchThing,
			rpc(clientPort, "mallory", "forceKillApplication", &proto.KillApplicationRequestProto{},
				"application_id <id: 1 cluster_timestamp: 1>")},
		{"an application below zero", noSuchThing + `|` + badArgument,
			rpc(clientPort, "mallory", "forceKillApplication", &proto.KillApplicationRequestProto{},
				"application_id <id: -1 cluster_timestamp: -9223372036854775808>")},
		{"no application at all", noSuchThing + `|` + badArgument,
			rpc(clientPort, "mallory", "forceKillApplication", &proto.KillApplicationRequestProto{}, "")},
		{"an id that was never handed out", `no id of this cluster|YarnException`,
			submission("id: 2147483647 cluster_timestamp: {stamp}", "")},
		{"an id of another cluster", `no id of this cluster`, submission("id: 1 cluster_timestamp: 1", "")},
		{"an id below zero", `no id of this cluster|` + badArgument, submission("id: -5 cluster_timestamp: {stamp}", "")},
		{"a submission without id", badArgument + `|no id`, submission("", "")},
		{"a submission context of 3 MB", `at most|too long|` + badArgument,
			submission("{fresh}", `am_container_spec <environment <key: "a" value: "`+strings.Repeat("v", 3<<20)+`">>`)},
		{"a name of 3 MB", badArgument, submission("{fresh}", `application_name: "`+strings.Repeat("n", 3<<20)+`"`)},
		{"ten thousand tags", `Too many applicationTags`, submission("{fresh}", manyTags())},
		{"a tag that is not ASCII", `ASCII`, submission("{fresh}", `applicationTags: "\303\244"`)},
		{"a tag of 1 MB", `too long`, submission("{fresh}", `applicationTags: "`+strings.Repeat("n", 1<<20)+`"`)},
		{"an AM of 2^63-1 MB", badResource, submission("{fresh}", `resource <memory: 9223372036854775807 virtual_cores: 1>`)},
		{"an AM of -2^63 MB", badResource + `|` + badArgument,
			submission("{fresh}", `resource <memory: -9223372036854775808 virtual_cores: 1>`)},
		{"an AM asked at 2,000 hosts", `Exception`,
			submission("{fresh}",
				strings.Repeat(`am_container_resource_request <resource_name: "h" num_containers: 1 capability <memory: 1024 virtual_cores: 1>>`, 2000))},
		{"a queue that climbs", `unknown queue|Exception`, submission("{fresh}", `queue: "root.a/../../b"`)},
		{"a queue of 1 MB", `Exception`, submission("{fresh}", `queue: "`+strings.Repeat("q", 1<<20)+`"`)},
		{"an end before the beginning", `Invalid application timeout`,
			submission("{fresh}", `application_timeouts <application_timeout_type: APP_TIMEOUT_LIFETIME timeout: -1>`)},
		{"a reservation that nobody made", `Exception`, submission("{fresh}", `reservation_id <id: 1 cluster_timestamp: 1>`)},
		{"a forged delegation token renewed", badToken + `|Exception`,
			rpc(clientPort, "mallory", "renewDelegationToken", &proto.RenewDelegationTokenRequestProto{},
				`token <identifier: "\000\001" password: "x" kind: "RM_DELEGATION_TOKEN" service: "">`)},
		{"a forged delegation token cancelled", badToken + `|Exception`,
			rpc(clientPort, "mallory", "cancelDelegationToken", &proto.CancelDelegationTokenRequestProto{},
				`token <identifier: "\000\001" password: "x" kind: "RM_DELEGATION_TOKEN" service: "">`)},
		{"a renewer of 1 MB", `Exception`, rpc(clientPort, "mallory", "getDelegationToken",
			&proto.GetDelegationTokenRequestProto{}, `renewer: "`+strings.Repeat("r", 1<<20)+`"`)},
		{"a planned reservation", `Exception`, rpc(clientPort, "mallory", "submitReservation",
			&proto.RefreshQueuesRequestProto{}, "")},
		{"a queue that does not exist, with all below", `Exception|answered`,
			rpc(clientPort, "mallory", "getQueueInfo", &proto.GetQueueInfoRequestProto{},
				`queueName: "../../etc" includeApplications: true includeChildQueues: true recursive: true`)},
		{"a forged token", badToken, withToken(clientPort, "getClusterMetrics", []byte("no identifier"),
			[]byte("no password"))},
	}
}

// hostileMaster returns calls of hostile AMs, with and without tokens.
func hostileMaster() []hostile {
	return []hostile{
		{"no token", `SIMPLE authentication is not enabled`,
			rpc(masterPort, "mallory", "allocate", &proto.AllocateRequestProto{}, "")},
		{"a forged token", badToken, withToken(masterPort, "allocate", []byte("no identifier"), []byte("no password"))},
		{"another's token with a guessed password", badToken, func(a *attack) string {
			return withToken(masterPort, "allocate", a.honest.master.token.Identifier, []byte("a guess of twenty b."))(a)
		}},
		{"another's token with an own password", badToken, func(a *attack) string {
			return withToken(masterPort, "allocate", a.honest.master.token.Identifier, a.mallory.token.Password)(a)
		}},
		{"an AM's token at the clients' port", badToken, func(a *attack) string {
			return withToken(clientPort, "getClusterMetrics", a.mallory.token.Identifier, a.mallory.token.Password)(a)
		}},
		{"a container below zero asked for", badResource,
			asMallory(
				`ask <priority <priority: 1> resource_name: "*" capability <memory: -1 virtual_cores: 1> num_containers: 1>`)},
		{"a container of 2^63-1 MB", badResource,
			asMallory(`ask <priority <priority: 1> resource_name: "*" capability <memory: 9223372036854775807 virtual_cores: 1> num_containers: 1>`)},
		{"a container of 2^31-1 cores", badResource,
			asMallory(`ask <priority <priority: 1> resource_name: "*" capability <memory: 1024 virtual_cores: 2147483647> num_containers: 1>`)},
		{"fewer than no containers", `answered|` + badArgument,
			asMallory(`ask <priority <priority: 1> resource_name: "*" capability <memory: 1024 virtual_cores: 1> num_containers: -2147483648>`)},
		{"an ask without a name of 1 MB", badArgument,
			asMallory(`ask <priority <priority: 1> resource_name: "` + strings.Repeat("h", 1<<20) +
				`" capability <memory: 1024 virtual_cores: 1> num_containers: 1>`)},
		{"another's container released", `InvalidContainerReleaseException`,
			asMallory(`release <app_attempt_id <application_id <{ann}> attemptId: 1> id: 1>`)},
		{"a container of no application released", `Exception`,
			asMallory(`release <app_attempt_id <application_id <id: -1 cluster_timestamp: -1> attemptId: -1> id: -1>`)},
		{"the whole world blacklisted", `InvalidResourceBlacklistRequestException`,
			asMallory(`blacklist_request <blacklist_additions: "*">`)},
		{"a hundred thousand hosts blacklisted", `Exception`,
			asMallory(`blacklist_request <` + strings.Repeat(`blacklist_additions: "host-of-a-long-name-so-and-so"`, 100000) +
				`>`)},
		{"a response that was never sent", `resynchronize`, asMallory(`response_id: 2147483647`)},
		{"a response below zero", `resynchronize`, asMallory(`response_id: -2147483648`)},
		{"a tracking address of 1 MB", `Exception`, asMallory(`tracking_url: "http://` + strings.Repeat("h", 1<<20) + `"`)},
	}
}

// hostileTracker returns calls of hostile NodeManagers.
func hostileTracker() []hostile {
	return []hostile{
		{"a heartbeat of nobody", `RESYNC|SHUTDOWN`,
			rpcReply(trackerPort, "nodeHeartbeat", &proto.NodeHeartbeatRequestProto{}, &proto.NodeHeartbeatResponseProto{},
				`node_status <node_id <host: "127.0.66.66" port: 1> response_id: 7 nodeHealthStatus <is_node_healthy: true>>`)},
		{"a heartbeat without a node", `Exception`,
			rpc(trackerPort, "mallory", "nodeHeartbeat", &proto.NodeHeartbeatRequestProto{}, "")},
		{"a node of 2^63-1 MB", `Exception|SHUTDOWN`,
			registration(`resource <memory: 9223372036854775807 virtual_cores: 1>`)},
		{"a node of -2^63 MB", `Exception|SHUTDOWN`,
			registration(`resource <memory: -9223372036854775808 virtual_cores: 1>`)},
		{"a node without resource", `Exception|SHUTDOWN`, registration(``)},
		{"a node without a host", `Exception|SHUTDOWN`,
			rpcReply(trackerPort, "registerNodeManager", &proto.RegisterNodeManagerRequestProto{},
				&proto.RegisterNodeManagerResponseProto{},
				`node_id <host: "" port: 1> http_port: 1 nm_version: "3.4.2" resource <memory: 1024 virtual_cores: 1>`)},
		{"a node whose host is a script", `Exception|SHUTDOWN`,
			rpcReply(trackerPort, "registerNodeManager", &proto.RegisterNodeManagerRequestProto{},
				&proto.RegisterNodeManagerResponseProto{},
				`node_id <host: "<script>alert(1)</script>" port: 1> http_port: 1 nm_version: "3.4.2" resource <memory: 1024 virtual_cores: 1>`)},
		{"a node whose host has 1 MB", `Exception|SHUTDOWN`,
			rpcReply(trackerPort, "registerNodeManager", &proto.RegisterNodeManagerRequestProto{},
				&proto.RegisterNodeManagerResponseProto{},
				`node_id <host: "`+strings.Repeat("h", 1<<20)+
					`" port: 1> http_port: 1 nm_version: "3.4.2" resource <memory: 1024 virtual_cores: 1>`)},
		{"a node at port -1", `Exception|SHUTDOWN`,
			rpcReply(trackerPort, "registerNodeManager", &proto.RegisterNodeManagerRequestProto{},
				&proto.RegisterNodeManagerResponseProto{},
				`node_id <host: "127.0.66.67" port: -1> http_port: 1 nm_version: "3.4.2" resource <memory: 1024 virtual_cores: 1>`)},
		{"a node's report of nobody's containers", `RESYNC|SHUTDOWN|Exception`,
			rpcReply(trackerPort, "nodeHeartbeat", &proto.NodeHeartbeatRequestProto{}, &proto.NodeHeartbeatResponseProto{},
				`node_status <node_id <host: "127.0.66.66" port: 1> response_id: 7 nodeHealthStatus <is_node_healthy: true>`+
					strings.Repeat(` containersStatuses <container_id <app_attempt_id <application_id <{ann}> attemptId: 1> id: 1> state: C_COMPLETE exit_status: 0>`, 10000)+`>`)},
		{"the clients' protocol", noProtocol, rpc(yarnPort{trackerPort.address, clientProtocol}, "mallory",
			"submitApplication", &proto.RefreshQueuesRequestProto{}, "")},
	}
}

// hostileAdmin returns calls to the administrators' port from users who are not administrators.
func hostileAdmin() []hostile {
	return []hostile{
		{"queues read again", denied, rpc(adminPort, "mallory", "refreshQueues", &proto.RefreshQueuesRequestProto{}, "")},
		{"nodes read again", denied, rpc(adminPort, "mallory", "refreshNodes", &proto.RefreshNodesRequestProto{}, "")},
		{"administrators read again", denied, rpc(adminPort, "mallory", "refreshAdminAcls",
			&proto.RefreshAdminAclsRequestProto{}, "")},
		{"super-users read again", denied, rpc(adminPort, "mallory", "refreshSuperUserGroupsConfiguration",
			&proto.RefreshSuperUserGroupsConfigurationRequestProto{}, "")},
		{"groups read again", denied, rpc(adminPort, "mallory", "refreshUserToGroupsMappings",
			&proto.RefreshUserToGroupsMappingsRequestProto{}, "")},
		{"a node made small", denied, rpc(adminPort, "mallory", "updateNodeResource", &proto.UpdateNodeResourceRequestProto{},
			`node_resource_map <node_id <host: "127.0.0.9" port: 45454> resource_option <resource <memory: 0 virtual_cores: 0> over_commit_timeout: 0>>`)},
		{"a node of 2^63-1 MB, by an administrator", `Exception`,
			rpc(adminPort, "yarn", "updateNodeResource", &proto.UpdateNodeResourceRequestProto{},
				`node_resource_map <node_id <host: "127.0.0.9" port: 45454> resource_option <resource <memory: 9223372036854775807 virtual_cores: 1> over_commit_timeout: 0>>`)},
		{"a leader deposed", denied + `|Exception`,
			rpc(yarnPort{adminPort.address, haProtocol}, "mallory", "transitionToStandby",
				&proto.TransitionToStandbyRequestProto{}, `reqInfo <reqSource: REQUEST_BY_USER_FORCED>`)},
		{"a leader made", denied + `|Exception`,
			rpc(yarnPort{adminPort.address, haProtocol}, "mallory", "transitionToActive",
				&proto.TransitionToActiveRequestProto{}, `reqInfo <reqSource: REQUEST_BY_USER_FORCED>`)},
		{"the clients' protocol", noProtocol, rpc(yarnPort{adminPort.address, clientProtocol}, "mallory",
			"forceKillApplication", &proto.KillApplicationRequestProto{}, "application_id <{ann}>")},
	}
}

func manyTags() string {
	var b strings.Builder
	for i := range 10000 {
		b.WriteString(`applicationTags: "t` + itoa(uint64(i)) + `" `)
	}
	return b.String()
}

// field encodes a protobuf field of bytes.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func delimited(b []byte) []byte { return protowire.AppendBytes(nil, b) }

// message returns a frame: a header with a call id, and the parts after it.
func message(call int32, parts ...[]byte) []byte {
	head := []byte{0x08, 2, 0x10, 0, 0x18}
	head = protowire.AppendVarint(head, protowire.EncodeZigZag(int64(call)))
	head = append(head, field(4, bytes.Repeat([]byte{7}, 16))...)
	out := delimited(head)
	for _, p := range parts {
		out = append(out, delimited(p)...)
	}
	return framed(out)
}

// listApplications is a getApplications call. Its call id is always the same.
var listApplications = message(5, append(
	append(field(1, []byte("getApplications")), field(2, []byte(clientProtocol))...), 0x18, 1), nil)

// requestOf returns a call of a method with an encoded request.
func requestOf(protocol, method string, body []byte) []byte {
	return message(5, append(append(field(1, []byte(method)), field(2, []byte(protocol))...), 0x18, 1), body)
}

// sasl returns a SASL message with a state.
func sasl(state uint64, token []byte) []byte {
	body := protowire.AppendVarint([]byte{0x10}, state)
	if token != nil {
		body = append(body, field(3, token)...)
	}
	return message(-33, body)
}

func everyRaw(send ...[]byte) func(*attack) string {
	return every(func(p yarnPort) func(*attack) string { return frames(p, send...) })
}

// everySasl chooses token authentication and sends an invalid proof.
func everySasl(proof string) func(*attack) string {
	auth := append(field(1, []byte("TOKEN")), field(2, []byte("DIGEST-MD5"))...)
	auth = append(auth, field(3, nil)...)
	auth = append(auth, field(4, []byte("default"))...)
	body := append([]byte{0x10, 2}, field(3, []byte(proof))...)
	body = append(body, field(4, auth)...)
	return everyRaw([]byte("hrpc\x09\x00\xdf"), sasl(1, nil), message(-33, body))
}
