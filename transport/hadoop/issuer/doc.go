// Package issuer calls the services that issued the delegation tokens of applications: it renews
// and cancels the tokens, and gets new ones of HDFS. It keeps no token. Start reading at Services.
//
//	HDFS_DELEGATION_TOKEN                                NameNode or router, Hadoop's IPC
//	WEBHDFS delegation, SWEBHDFS delegation              NameNode, HTTP
//	kms-dt                                               KMS, HTTP
//	TIMELINE_DELEGATION_TOKEN                            timeline service 1, HTTP
//	MR_DELEGATION_TOKEN                                  history server of MapReduce, Hadoop's IPC
//
// Callers of these services prove who they are by the Kerberos login of this replica.
//
// Invariants:
//
//   - An error Is ErrInvalidToken or ErrNotRenewer only if the service itself said so. All other
//     errors may pass by themselves.
//   - No error contains a password, or the text of a token from which it can be read.
//   - A user decides by tokens_conf where the service of a token is, and never how this replica
//     proves who it is, nor the protection of the connection.
//   - A service can make this process keep answerMax bytes at most.
package issuer
