// Package exitcode declares the exit codes with which a replica tells its supervisor why it ended.
package exitcode
