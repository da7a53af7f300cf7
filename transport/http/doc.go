// Package httpserver is what a replica serves over HTTP, put together from rooms by
// audience (the folder is http; the package has another name, which does not hide
// net/http's):
//
//	v1       rmd's own API; v1/api are its documents
//	yarn     /ws/v1/cluster, the proxy and the other addresses of Hadoop's tools
//	metrics  /metrics and /debug/pprof
//	ui       the operator's pages
//
// and from what they share:
//
//	auth     who calls, and what that caller may do
//	route    a request's way to its handler, inputs, the audit
//	view     one fork of the state with the documents made of it
//	summary  counts and orders of the whole state, for lists
//	problem  errors as answers
//
// A request goes this way:
//
//	listener ─▶ server.go: host, origin ─▶ auth.Identify ─▶ page, Hadoop's service, or route.Mux
//	              read:   view of a fork, after ReadIndex and WaitApplied when asked ─▶ document
//	              write:  document ─▶ input ─▶ Submitter.Do ─▶ reply or refusal
//
// A handler holds no scheduling state and decides nothing: it translates. A read is
// answered from one fork, so a document never mixes two states, and says at which index of
// the log that was and how far behind the leader the replica may be.
//
// No room imports another; internal/tidy holds that. The package knows neither Raft nor the
// leader: it sees the replica through the interfaces in Config.
package httpserver
