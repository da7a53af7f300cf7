// Package ipc implements Hadoop's IPC, version 9, for servers and clients: framing, the SASL
// negotiation (TOKEN by DIGEST-MD5, KERBEROS by GSSAPI, and SIMPLE), the connection context, and the
// dispatch of calls by protocol and method. It knows nothing of YARN: its caller supplies the methods, the check of
// tokens and the rules for proxy users.
//
// # Server
//
//	accept ─▶ preamble ─▶ [SASL] ─▶ context ─▶ frames ─▶ handler ─▶ outbox ─▶ socket
//	          └──────── one goroutine a connection ────┘   worker     coalesced
//
// One goroutine reads each connection. It holds no buffer while the connection is idle, so ten
// thousand idle connections need only their stacks. A call runs on a worker, so a call that waits
// for a commit does not delay other calls of its connection. A method that is marked Inline runs on
// the reading goroutine, and must call Call.Detach before it waits. A handler's reply is appended
// to the connection's outbox. The first writer also writes the replies that others append
// meanwhile.
//
// If both sides have agreed on integrity or privacy, each frame travels in a wrapped frame. Wrapping
// happens where the outbox takes a frame, and unwrapping below the intake, so nothing else knows of
// it (layer.go).
//
// Invariants:
//
//   - Each call gets one reply, with its call id, client id and retry count. INITIATE of SIMPLE,
//     the context and pings get none.
//   - FATAL ends a connection. It is used while the connection is set up, or for a frame that
//     cannot be read. A handler's error is ERROR and ends only its call.
//   - Every queue is bounded: connections, calls of a connection and of all, frames, output. If one
//     is full, the server stops reading that connection. It disconnects a peer that does not read,
//     or that sends a frame too slowly.
//   - After an agreement on integrity or privacy, a frame that is not wrapped ends the connection,
//     as does one that is changed, repeated, or not encrypted as agreed.
//   - Nothing that a peer sends stops the process: a handler's panic is logged and answered.
//
// # Client
//
// Client shares one connection for all calls to the same address by the same caller. Connect opens
// a separate connection with asynchronous calls, for load generators.
package ipc
