// Package wire turns the values of rmd/yarn and the records of fsm/state into
// Hadoop's messages and back. The services and the launcher share it, so that each
// value has one form on Hadoop's wire.
//
// A function named after a value reads it (ApplicationID, Resource); the same
// name with Proto writes it. Reading checks what the type cannot hold: an absent
// or negative part of an identity is an error that wraps ErrInvalid, and no
// input makes it panic. What a value means — is the node known, does the ask
// fit — is not decided here.
//
// States are told as YARN's clients expect them: an application whose AM has
// unregistered is FINISHED for them while its container still runs.
package wire
