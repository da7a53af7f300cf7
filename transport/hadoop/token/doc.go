// Package token makes and checks YARN's tokens.
//
// A token is an identifier, a password — HMAC-SHA1 of the identifier under a
// master key — a kind and a service. The master keys are in the replicated state
// and are read through a Ring, never kept by a process; so every replica makes
// and takes the same tokens, and a change of leader is not seen by them.
//
//	AMRM        AM → ResourceManager   checked here (AMRMPassword)
//	NM          AM → NodeManager       checked by the node
//	Container   in a start request     checked by the node
//	Delegation  client → ResourceManager, checked here (DelegationPassword)
//
// A node parses an identifier and serializes it again before it computes the
// HMAC. Identifiers are therefore written canonically, by hand: fields in
// ascending order, least varints, nothing that the reader does not know.
//
// Credentials is the blob of tokens and secrets in a launch context.
//
// Everything here is pure apart from Services, which remembers the addresses of
// hosts. Reading takes any bytes, within MaxIdentifier and MaxCredentials, and
// ends in a value or an error.
package token
