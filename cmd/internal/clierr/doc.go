// Package clierr is the one place where an error becomes a line on stderr and an
// exit code.
//
// Every error a person sees reads "rmd: CODE: what; what to do". The code is
// stable; the exit code follows from it, from the HTTP status of a refusal, or
// from the error's type, in this order (package exitcode has the numbers).
package clierr
