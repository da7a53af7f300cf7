// Package token makes and checks YARN's tokens.
//
// A token is an identifier, a password (HMAC-SHA1 of the identifier under a master key), a kind and
// a service. The master keys are in the replicated state. The package reads them through a Ring and
// does not keep them. So every replica makes and accepts the same tokens, and a change of the
// leader does not affect them.
//
//	AMRM        AM → ResourceManager   checked here (AMRMPassword)
//	NM          AM → NodeManager       checked by the node
//	Container   in a start request     checked by the node
//	Delegation  client → ResourceManager, checked here (DelegationPassword)
//
// A node parses an identifier and serializes it again before it computes the HMAC. Therefore
// identifiers are written canonically, by hand: fields in ascending order, shortest varints,
// nothing that the reader does not know.
//
// Credentials is the encoding of tokens and secrets in a launch context.
//
// The package is pure except for Services, which remembers the addresses of hosts. It reads any
// bytes, within MaxIdentifier and MaxCredentials, and returns a value or an error.
package token
