// Package exitcode declares the exit codes of rmd: 0 to 9 tell what became of a command, 70 to 75
// tell a supervisor why a replica ended.
package exitcode
