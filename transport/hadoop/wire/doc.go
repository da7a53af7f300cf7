// Package wire converts the values of rmd/yarn and the records of fsm/state to Hadoop's messages
// and back. The services and the launcher share it, so each value has one form in Hadoop's
// protocols.
//
// A function with the name of a value decodes it (ApplicationID, Resource). The same name with
// Proto encodes it. Decoding checks what the type cannot hold: a missing or negative part of an
// identifier gives an error that wraps ErrInvalid. No input causes a panic. The package does not
// check the meaning of a value, for example whether a node is known or an ask fits.
//
// States are those that YARN's clients expect: an application whose AM has unregistered is FINISHED
// for them while its container still runs.
package wire
