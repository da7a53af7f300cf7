// Package guides runs the guides of docs/operations like a reader. Its tests extract the commands
// from the Markdown, run them on machines made of namespaces, and compare the output with the
// guide. An outdated guide therefore fails its test. The folder machines creates the machines, and
// has replacements for systemd, ssh and the scripts of a Hadoop distribution.
package guides
