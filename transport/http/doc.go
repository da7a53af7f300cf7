// Package httpserver serves a replica's HTTP ports. The folder is http; the package has another
// name so that it does not hide net/http. It consists of packages by audience:
//
//	v1       rmd's own API; v1/api has its documents
//	yarn     /ws/v1/cluster, the proxy and the other addresses of Hadoop's tools
//	metrics  /metrics and /debug/pprof
//	ui       the operator's pages
//
// and of packages that these share:
//
//	auth     identifies the caller and checks what the caller may do
//	route    leads a request to its handler; inputs, the audit
//	view     makes documents from one fork of the state
//	summary  counts and orders of the whole state, for lists
//	problem  errors as answers
//
// The way of a request:
//
//	listener ─▶ server.go: host, origin ─▶ auth.Identify ─▶ page, Hadoop's service, or route.Mux
//	              read:   view of a fork, after ReadIndex and WaitApplied when asked ─▶ document
//	              write:  document ─▶ input ─▶ Submitter.Do ─▶ reply or refusal
//
// A handler has no scheduling state and decides nothing: it translates. A read is answered from one
// fork, so a document never mixes two states. It says at which index of the log the fork was made,
// and how far behind the leader the replica may be.
//
// No package of an audience imports another; internal/tidy checks that. This package knows neither
// Raft nor the leader: it sees the replica through the interfaces in Config.
package httpserver
