// Package peer connects replicas: one listener, one port, three kinds of connection.
//
//	dialer                                   listener
//	  | hello: kind, cluster, id, incarnation,  |
//	  |        boot nonce, cluster id, proof -> |  checks name, cluster id, certificate, proof, membership
//	  | <- reply: code, text, own identity      |
//	  |                                         |
//	  | raft      the stream of hashicorp/raft  |  StreamLayer, Transport
//	  | liveness  status, listener to dialer    |  Server.Watch
//	  | rpc       pipelined calls with ids      |  Server.Handle, Server.Call
//
// Outside loopback every connection is mutual TLS 1.3. The certificate names the cluster and the
// replica (URI SAN rmd://CLUSTER/replica/ID), and both sides compare it with the hello. Each side
// proves that it has the replica's own key: it signs a secret of the connection (proof.go). Package
// cluster decides whether the key is a member's, and what the caller may do (gate.go).
//
// Invariants:
//   - A replica of another cluster, a replica that is not a member, and one with a false id get no
//     further than the hello.
//   - Every frame, every queue and every number of connections is bounded.
//   - A failed call says whether it was not sent (ErrNotSent) or whether its outcome is unknown
//     (ErrOutcomeUnknown).
//
// The package knows nothing of YARN, nor of the contents of calls. Package cluster uses it for
// Raft, membership and succession; transport/forward sends inputs through it.
package peer
