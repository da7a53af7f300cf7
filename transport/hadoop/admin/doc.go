// Package admin serves administrators with Hadoop's tools:
// ResourceManagerAdministrationProtocol and HAServiceProtocol, on the admin port
// (`yarn rmadmin`).
//
// What changes the cluster goes through the log like every input, so any replica
// may be asked. What a refresh reads is read from the files of the replica that
// was asked. HAServiceProtocol tells who leads and changes nothing: leadership
// is Raft's, `rmd cluster transfer` moves it.
package admin
