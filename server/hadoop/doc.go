// Package hadoop puts together the part of a replica that serves Hadoop's programs: the services of
// YARN's protocols behind their four ports, the launcher of ApplicationMasters, the proxy, and
// Hadoop's configuration files.
//
// Open makes the services, Listen opens their ports, Run runs their background work. reader.go
// shows them the committed state, queues.go the queues, files.go the files.
package hadoop
