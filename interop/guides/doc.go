// Package guides runs the guides of docs/operations as a reader would. Its tests take the commands
// out of the Markdown, run them on machines made of namespaces, and compare the output with the
// guide. So an outdated guide fails its test. The folder machines makes the machines, and has
// replacements for systemd, ssh and the scripts of a Hadoop distribution.
package guides
