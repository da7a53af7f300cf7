// Package admin serves administrators with Hadoop's tools: ResourceManagerAdministrationProtocol
// and HAServiceProtocol, on the admin port (`yarn rmadmin`).
//
// A change of the cluster goes through the log like every input, so any replica can serve it. A
// refresh reads the files of the replica that is called. HAServiceProtocol reports which replica
// leads and changes nothing: Raft elects the leader, and `rmd cluster transfer` transfers
// leadership.
package admin
