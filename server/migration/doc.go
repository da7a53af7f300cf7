// Package migration creates the first state of a cluster from the state store of a Java
// ResourceManager: the applications in the order of their events, the keys and the delegation
// tokens.
//
// It drops nothing silently. If it cannot take something over, it refuses the import and names the
// object. The operator can then name the object to leave it out. Ended applications that cannot be
// taken over are left out and listed.
package migration
