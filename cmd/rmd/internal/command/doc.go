// Package command is the command line of rmd, with one file for each command or noun.
//
// program.go runs a command line and returns its exit code. verb.go has the parts of every command,
// and tree.go lists all commands. A command reads its flags, calls the cluster through package
// client, and prints the answer through package output. The cluster decides what is allowed.
//
// Each rule for all commands is in one place: the order of flags (package argparse), exit codes and
// error lines (package clierr), formats (show.go), confirmation of destructive commands
// (confirm.go).
package command
