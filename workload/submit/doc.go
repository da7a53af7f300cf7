// Package submit is the workload's way into a cluster: inputs over POST /v1/inputs of any replica.
//
// A body is a row of requests, each behind its length (uvarint) and in the form of input.EncodeRequest; the answer is a
// row of the same length and order: length, a status byte (0 a reply, 1 an error), then the reply's bytes or the text
// of the error.
//
//	Do ──┐                 ┌─ lane 1 ── one body in flight ──▶ replica 1
//	Do ──┼─▶ queue (bounded) ─ lane 2 ── one body in flight ──▶ replica 2
//	Do ──┘                 └─ …
//
// A call waits in the queue while a lane is busy, and the lane's next body takes all that has gathered, up to a bound.
// So bodies grow with the load and a lone call pays one round trip.
//
// A lane that gets no answer goes on to the next address at once and repeats what was open, for as long as the callers'
// contexts last. Repetition is sound because every input carries what makes it harmless: an identity, a response
// number, or for a submission without identity the idempotency key that the client gives it.
//
// What a replica refuses in a reply is a reply (input.Fault), not an error of Do.
package submit
