// Package model describes for porcupine what a client may see. It has one small state machine for
// each kind of object, and divides a history into one part for each object, so that the search
// stays small.
//
//	application   absent submitted accepted running finished failed killed forgotten
//	queue         absent running draining stopped, and its configuration
//	node          in service, draining, out of service: what administrators want
//	members       the members of the cluster, and which of them vote
//
// A change that no client made (an attempt starts, fails, is tried again; a queue has drained) is a
// step that a read may find done. An operation with an unknown outcome stays open to the end: it
// may take effect at any time after its call, or never be visible. A refused operation changed
// nothing and is left out, except a refusal because the object does not exist: this counts as a
// read of the object.
//
// Stale reads are not part of the model; package check compares them with their index.
package model
