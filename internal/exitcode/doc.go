// Package exitcode declares the exit codes of rmd. 0 to 9 are the results of commands. 70 to 75
// tell a supervisor why a replica stopped.
package exitcode
