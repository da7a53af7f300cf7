// Package clierr turns an error into a line on stderr and an exit code. No other package does.
//
// Every error has the form "rmd: CODE: what; what to do". The code is stable. The exit code follows
// from the code, from the HTTP status of a refusal, or from the error's type, in this order
// (package exitcode has the numbers).
package clierr
