// Package migration makes the first state of a cluster from what a Java ResourceManager has stored:
// its applications in the order of their events, its keys and its delegation tokens.
//
// It drops nothing silently. It refuses by name what it cannot take, and leaves it out only if the
// operator names it. Of ended applications, it leaves out and lists those that have no place here.
package migration
