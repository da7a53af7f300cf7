// Package httpserver is the HTTP front door: rmd's own API under /v1, the part of
// Hadoop's under /ws/v1/cluster that its tools read, the Prometheus metrics,
// and the binary door for simulated nodes and applications.
//
//	request ─▶ admission (host, origin, plain public HTTP) ─▶ route ─▶ handler
//	              read:   Fork, after ReadIndex and WaitApplied when asked ─▶ document
//	              write:  document ─▶ input ─▶ Door.Do ─▶ reply or refusal
//
// A handler holds no scheduling state and decides nothing: it translates. Reads
// are answered from one fork, so a document never mixes two states, and say at
// which log index that was and how far behind the leader the replica may be.
// Every answer that is not a success has the shape of api.Error; the table in
// status.go is the one place where codes become HTTP statuses.
//
// The package sees the replica through the small interfaces of config.go and
// knows neither Raft nor the leader. Handlers lie in files by noun; the ws_
// files speak Hadoop's shapes, the others rmd's.
package httpserver
