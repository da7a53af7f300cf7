// Package offline works on the data directory of a replica that does not run: it checks it, creates
// it, or recovers a cluster from it. It refuses a directory that a process uses.
package offline
