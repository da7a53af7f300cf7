// Package master serves ApplicationMasterProtocol: an ApplicationMaster registers its attempt, asks
// for containers, receives them, and reports that it is done.
//
//	token ─▶ attempt ─▶ check ─▶ input ─▶ Submitter ─▶ reply ─▶ answer
//	                                                 tokens, node reports ┘
//
// The planner makes all decisions. The replicated state has the containers of an attempt and the
// contents of each numbered response. So a call that is repeated, here or at another replica, gets
// the same containers. The service adds the tokens, made from the replicated keys at the time of
// the answer, and the news of nodes.
//
// The service remembers little of an attempt, and can lose it without harm: the NM tokens that it
// has sent, the last news of nodes, and the largest container that the registration named. When an
// AM moves here from another replica, it gets NM tokens and node states again, which changes
// nothing for the AM.
//
// An AM ends at nearly every exception of allocate. So an error that is not the AM's fault is a
// StandbyException, which its client repeats. An error that a new registration repairs is an
// ApplicationMasterNotRegisteredException.
//
// Opportunistic containers, placement constraints and changes of a container's execution type are
// not supported, and get the answers of YARN where they are off. Node labels (ask.go) and changes
// of a container's size (updates.go) are.
//
// Begin with allocate.go.
package master
