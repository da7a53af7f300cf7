// Package verb has what every command of rmd gets: its flags and arguments, a client for the cluster,
// and the printing of answers. A Verb is a command as data, a Call is one execution of it. The
// packages beside this one have the verbs.
//
// Each rule for all commands is in one place here: formats (show.go), confirmation of destructive
// commands (confirm.go), the values of flags (flag_values.go), and what a shell completes (lookup.go).
//
// Read verb.go first.
package verb
