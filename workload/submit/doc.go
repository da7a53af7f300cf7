// Package submit sends the inputs of the workload to a cluster, over POST /v1/inputs of any
// replica.
//
// A body is a sequence of requests, each with its length (uvarint) before it and in the form of
// input.EncodeRequest. The answer has the same length and order: for each request a length, a
// status byte (0 a reply, 1 an error), then the reply's bytes or the text of the error.
//
//	Do ──┐                 ┌─ sender 1 ── one body in flight ──▶ replica 1
//	Do ──┼─▶ queue (bounded) ─ sender 2 ── one body in flight ──▶ replica 2
//	Do ──┘                 └─ …
//
// A call waits in the queue while a sender is busy. The sender's next body takes all waiting calls, up
// to a limit. So bodies grow with the load, and a single call costs one round trip.
//
// A sender that gets no answer goes to the next address at once and repeats the open calls, as long
// as the contexts of their callers last. Repetition is safe because every input has something that
// makes it harmless: an identity, a response number, or for a submission without identity the
// idempotency key of the client.
//
// A refusal in a reply is a reply (input.Refusal), not an error of Do.
package submit
