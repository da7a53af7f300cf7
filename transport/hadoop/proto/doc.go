// Package proto has the messages of Hadoop 3.4.2 that rmd reads and writes. They are generated from
// the .proto files in this directory ("make proto"; needs protoc). Their names and numbers are
// Hadoop's. testdata/releases has the protocols of several releases of Hadoop as text; a test compares
// them with ours. "make descriptors HADOOP=x.y.z" adds a release.
package proto

//go:generate protoc --go_out=. --go_opt=paths=source_relative ipc.proto security.proto ha.proto yarn.proto token.proto service.proto server.proto admin.proto recovery.proto
