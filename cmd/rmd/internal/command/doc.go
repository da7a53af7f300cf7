// Package command is the command line of rmd. program.go runs a command line and returns its exit
// code, and tree.go lists all commands.
//
// The packages below have the commands, with one file for each command or noun. A command reads its
// flags, calls the cluster through package client, and prints the answer through package output. The
// cluster decides what is allowed.
//
// Each rule for all commands is in one place: the order of flags (package argparse), exit codes and
// error lines (package clierr), and all others in package verb.
package command
