// Package client speaks to a cluster's REST API through any of its replicas.
//
// A request is tried at the replica that answered last, then at the others. A
// replica that cannot be reached, has no leader or is busy is passed over, until
// one answers or the time is up. This is safe for writes as well: each carries an
// Idempotency-Key CLIENT/SEQUENCE that stays the same over all tries, so however
// often it arrives it is done once. A write whose time is up has an unknown
// outcome, and its error says so.
//
// Reads ask for ?consistent, unless Stale is set.
package client
