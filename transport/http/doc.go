// Package httpserver serves a replica's HTTP ports. The folder is http; the package has another
// name so that it does not hide net/http. Four packages each serve one audience:
//
//	v1       rmd's own API; package api has its documents
//	yarn     /ws/v1/cluster, the proxy and the other addresses of Hadoop's tools
//	metrics  /metrics and /debug/pprof
//	ui       the operator's pages
//
// They share these packages:
//
//	auth     identifies the caller and checks what the caller may do
//	route    finds the handler of a request; submits inputs, writes the audit
//	view     makes documents from one fork of the state
//	summary  counts and sorted lists of the whole state
//	sampler  samples of the last hour
//	problem  turns errors into answers
//
// The path of a request:
//
//	listener ─▶ server.go: host, origin ─▶ auth.Identify ─▶ page, Hadoop's service, or route.Mux
//	              read:   view of a fork, after ReadIndex and WaitApplied if asked ─▶ document
//	              write:  document ─▶ input ─▶ Submitter.Do ─▶ reply or refusal
//
// A handler has no scheduling state and makes no decisions: it translates. A handler answers a read
// from one fork, so a document never mixes two states. The answer says at which index of the log
// the fork was made, and how far behind the leader the replica may be.
//
// The packages of the four audiences do not import each other; internal/tidy checks that. This
// package knows neither Raft nor the leader: it uses the replica through the interfaces in Config.
package httpserver
