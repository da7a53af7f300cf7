// Package client serves clients: ApplicationClientProtocol, which
// the `yarn` command line and the clients of MapReduce, Spark and
// DistributedShell call on the client port.
//
// A call that changes something becomes an input for the Submitter; its answer is
// sent when this replica has applied it. A call that reads first asks the leader
// how far this replica must be (Reader.Current), since Hadoop's wire has no
// place to tell how old an answer is: an application that any replica has
// acknowledged is known here, and "not found" is true.
//
//	message ─▶ check ─▶ input ─▶ Submitter ─▶ reply or fault ─▶ message or Java exception
//	message ─▶ Reader.Current ─▶ view of one fork ─▶ report
//
// Refusals carry the Java class and, where there is one, the very text of YARN's
// ResourceManager: clients decide by the class and print the text. fault.go has
// the table from the planner's codes.
//
// Who may see and change what is decided here, by YARN's rules, and only while
// yarn.acl.enable is on: administrators, the owner, the lists in the submission
// context, and administrators of the application's queue. Which queues a user
// may submit to is the planner's to say.
//
// What is not offered answers as YARN does when it is switched off: resource
// profiles, the reservation system, node attributes.
package client
