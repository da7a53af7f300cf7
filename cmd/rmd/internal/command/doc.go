// Package command is the command line of rmd: one file per command or noun.
//
// program.go runs a command line from its words to an exit code; verb.go is what
// every command is made of; tree.go lists them all. A command reads its flags,
// asks the cluster through package client, and shows the answer through package
// output. It decides nothing: what may be done is decided by the cluster.
//
// Rules that hold for all of them are kept in one place each: flags anywhere
// (package argparse), exit codes and error lines (package clierr), formats (show.go),
// confirmation of what loses data (confirm.go).
package command
