// Package guides follows the guides of docs/operations as a reader would: its tests take the commands
// out of the Markdown, run them on machines made of namespaces, and compare what they print with what
// the guide shows. A guide that rots fails its test. The folder machines makes the machines, and holds
// what stands in for systemd, ssh and the scripts of a Hadoop distribution on them.
package guides
