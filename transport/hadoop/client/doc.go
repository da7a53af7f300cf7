// Package client implements ApplicationClientProtocol on the client port, for the `yarn` command
// line and the clients of MapReduce, Spark and DistributedShell.
//
// A change becomes an input for the Submitter. It is answered when this replica has applied it. A
// read first asks the leader up to which index this replica must have applied the log
// (Reader.Current), because Hadoop's protocol cannot say how old an answer is. Therefore this
// replica finds every application that any replica has acknowledged, and "not found" is certain.
//
//	message ─▶ check ─▶ input ─▶ Submitter ─▶ reply or fault ─▶ message or Java exception
//	message ─▶ Reader.Current ─▶ view of one fork ─▶ report
//
// A refusal has the Java class of YARN's ResourceManager and, if YARN has one, its exact text:
// clients decide by the class and print the text. fault.go has the table from the planner's codes.
//
// The package applies YARN's rules about which applications a user may view and change, and only
// while yarn.acl.enable is true: administrators, the owner, the lists in the submission context,
// and the administrators of the application's queue have access. The planner decides to which
// queues a user may submit.
//
// Unsupported features (resource profiles, the reservation system, node attributes) get YARN's
// answers for disabled features.
package client
