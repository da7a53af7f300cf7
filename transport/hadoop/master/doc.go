// Package master implements ApplicationMasterProtocol: an ApplicationMaster registers its attempt,
// asks for containers, receives them, and unregisters.
//
//	token ─▶ attempt ─▶ check ─▶ input ─▶ Submitter ─▶ reply ─▶ answer
//	                                                 tokens, node reports ┘
//
// The planner makes all decisions. The replicated state has the containers of an attempt and the
// contents of each numbered response. Therefore a repeated call gets the same containers, here or
// at another replica. The service adds the tokens, which it creates from the replicated keys at the
// time of the answer, and the changes of nodes.
//
// The service remembers little of an attempt, and may lose it without harm: the NM tokens that it
// has sent, and the last changes of nodes. An AM that moves here from another replica gets NM tokens
// and node states again, which changes nothing for the AM.
//
// An AM ends after nearly every exception of allocate. Therefore an error that is not the AM's
// fault is a StandbyException, after which its client repeats the call. An error that a new
// registration repairs is an ApplicationMasterNotRegisteredException.
//
// Opportunistic containers, placement constraints and changes of a container's execution type are
// not supported, and get YARN's answers for disabled features. Node labels (ask.go) and changes of
// a container's size (updates.go) are supported.
//
// Begin with allocate.go.
package master
