// Package ipc speaks Hadoop's IPC, version 9, on both ends: framing, the SASL
// negotiation (TOKEN by DIGEST-MD5, and SIMPLE), the connection context, and
// the dispatch of calls by protocol and method. It knows no YARN: what a method
// means, whose token is good and who may act for whom is handed in.
//
// # Server
//
//	accept ─▶ preamble ─▶ [SASL] ─▶ context ─▶ frames ─▶ handler ─▶ outbox ─▶ socket
//	          └──────── one goroutine a connection ────┘   worker     coalesced
//
// A connection has one goroutine, which reads. It holds no buffer while nothing
// comes, so that ten thousand idle connections cost their stacks. A call runs
// on a worker, so that one which waits for a commit holds up no other of its
// connection; a method that is marked Inline runs on the reading goroutine, and
// hands the reading on when it is about to wait (Call.Detach). A caller that has a
// reply appends it to the connection's outbox; the first to come writes, and
// takes along what the others append meanwhile.
//
// What always holds:
//
//   - One reply to each call, with its call id, client id and retry count; none
//     to INITIATE of SIMPLE, to the context and to pings.
//   - FATAL ends a connection and is used while it is set up, or for a frame
//     that cannot be read. A handler's error is ERROR and ends its call alone.
//   - Every queue is bounded: connections, calls of a connection and of all,
//     frames, output. A full one stops the reading of that connection; a peer
//     that does not read, or sends a frame in drops, is disconnected.
//   - Nothing that a peer sends makes the process stop: a handler's panic is
//     logged and answered.
//
// # Client
//
// Client shares one connection among all calls to the same address by the same
// caller; Connect gives connections of one's own, with asynchronous calls, for
// those who load a server.
package ipc
