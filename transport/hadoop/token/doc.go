// Package token creates and checks YARN's tokens.
//
// A token is an identifier, a password (the HMAC of the identifier with a master key), a kind and
// a service. The master keys are in the replicated state. The package reads them through a Ring and
// does not keep them. Therefore every replica creates and accepts the same tokens, and a change of
// the leader does not affect them.
//
//	AMRM        AM → ResourceManager   checked here (AMRMPassword)
//	NM          AM → NodeManager       checked by the node
//	Container   in a start request     checked by the node
//	Delegation  client → ResourceManager, checked here (DelegationPassword)
//
// A node decodes an identifier and encodes it again before it computes the HMAC. Therefore
// identifiers are encoded canonically by hand: fields in ascending order, shortest varints, and no
// unknown fields.
//
// Credentials is the encoding of tokens and secrets in a launch context.
//
// The package is pure except for Services, which caches the addresses of hosts. It accepts any
// bytes, up to MaxIdentifier and MaxCredentials, and returns a value or an error.
package token
