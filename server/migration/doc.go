// Package migration makes the first state of a cluster out of what a Java ResourceManager has stored:
// its applications in the order in which everything happened, its keys and its delegation tokens.
//
// It decides nothing in silence. What cannot be taken is refused by name, and left out only when the
// operator names it. Of applications that have ended, it leaves out those that have no place here.
package migration
