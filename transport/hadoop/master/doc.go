// Package master answers ApplicationMasterProtocol: an ApplicationMaster
// registers its attempt, asks for containers and is given them, and says that it
// is done.
//
//	token ─▶ attempt ─▶ check ─▶ input ─▶ Submitter ─▶ reply ─▶ answer
//	                                                 tokens, node reports ┘
//
// What is decided is decided by the planner: which containers an attempt has,
// and what each numbered response tells of them, are in the replicated state, so
// a call that is repeated, here or at another replica, gets the same containers.
// The service adds what is no decision: the tokens, made of the replicated keys at
// the time of the answer, and the news of nodes.
//
// The service remembers little of an attempt, and loses it without harm: which NM
// tokens it has sent, up to where it has told of nodes, and the largest
// container that the registration named. An attempt whose AM comes over from
// another replica is told once more: an NM token or a node's state told twice
// changes nothing for an AM.
//
// An AM takes nearly every exception of allocate for its end. So what is not
// its own fault is a StandbyException, which its client repeats, and what it
// can mend by registering again is an ApplicationMasterNotRegisteredException.
//
// Opportunistic containers, labels, placement constraints and updates of
// containers are off, and answered as YARN does where they are off.
package master
