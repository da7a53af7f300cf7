// Package hadoop puts the part of a replica together that Hadoop's programs meet: the services of
// YARN's protocols behind their four ports, the launcher of ApplicationMasters, the proxy, and
// Hadoop's configuration files, which configure them.
//
// Open makes the services, Listen opens their ports, Run does what goes on beside them. reader.go
// shows them the committed state, queues.go the queues, files.go the files.
package hadoop
