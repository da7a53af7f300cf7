// Package replica has the commands that run replicas on this machine or work on their files: server,
// dev, init, check, recover and import.
//
// Package server assembles a replica. The commands here read its settings and say what went wrong.
// Read server.go first.
package replica
