// Package hadoop assembles the part of a replica that serves Hadoop's programs: the services of
// YARN's protocols behind their four ports, the launcher of ApplicationMasters, the proxy, and
// Hadoop's configuration files.
//
// Open creates the services, Listen opens their ports, and Run runs their background work.
// reader.go gives them the committed state, queues.go the queues, files.go the files.
package hadoop
