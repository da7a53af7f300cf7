// Package client serves clients: ApplicationClientProtocol, which the `yarn` command line and the
// clients of MapReduce, Spark and DistributedShell call on the client port.
//
// A change becomes an input for the Submitter. Its answer is sent when this replica has applied it.
// A read first asks the leader how far this replica must have applied the log (Reader.Current),
// because Hadoop's protocol cannot say how old an answer is. So every application that any replica
// has acknowledged is found here, and "not found" is true.
//
//	message ─▶ check ─▶ input ─▶ Submitter ─▶ reply or fault ─▶ message or Java exception
//	message ─▶ Reader.Current ─▶ view of one fork ─▶ report
//
// A refusal has the Java class of YARN's ResourceManager and, if YARN has one, its exact text:
// clients decide by the class and print the text. fault.go has the table from the planner's codes.
//
// The package decides by YARN's rules which applications a user may see and change, and only while
// yarn.acl.enable is on: administrators, the owner, the lists in the submission context, and the
// administrators of the application's queue have access. The planner decides to which queues a user
// may submit.
//
// Unsupported features (resource profiles, the reservation system, node attributes) get the answers
// of YARN where they are off.
package client
