// Package clierr is the one place where an error becomes a line on stderr and an
// exit code.
//
// Every error a person sees reads "rmd: CODE: what; what to do". The code is
// stable; the exit code follows from it, from the HTTP status of a refusal, or
// from the error's type, in this order. Codes 0 to 9 belong to the client
// commands, 70 to 75 to a replica and its supervisor.
package clierr
