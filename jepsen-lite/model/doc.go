// Package model says what a client may see, for porcupine: one small state
// machine for each kind of thing, one part of a history for each thing, so that
// the search stays small.
//
//	application   absent submitted accepted running finished failed killed forgotten
//	queue         absent running draining stopped, and its configuration
//	node          in service, draining, out of service: what administrators want
//	members       who is in the cluster, and who votes
//
// What happens by itself (an attempt starts, fails, is tried again; a queue has
// drained) is a step that a read may find done. An operation whose outcome is
// unknown stays open to the end: it may take effect at any time after its call, or
// so late that nobody sees it. A refused operation changed nothing and is left
// out, except one that says that there is no such thing, which is a read of that.
//
// Stale reads are no part of it; package check holds them against their index.
package model
