// Package statestore reads the state store of a Java ResourceManager in ZooKeeper (ZKRMStateStore):
// applications with their attempts, the keys and delegation tokens that it has issued, and the
// epoch of its container ids. It reads every layout of Hadoop 3.x and writes nothing.
//
// All reads are bounded. Data that cannot be decoded becomes a Problem with the name of the
// application or key, so one damaged application does not hide the others.
package statestore
