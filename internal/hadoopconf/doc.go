// Package hadoopconf reads and writes Hadoop's XML configuration files: <property> with name, value
// and final, ${…} substitution, xi:include, and several files layered over each other.
//
// Every property has the file and line from which it came. If the files have faults, all of them
// are reported, each with file and line. Sizes, counts and depths are limited, so that a damaged or
// hostile file cannot use many resources.
//
// Values are kept as written, with spaces, like in Hadoop, because a leading space has a meaning in
// an access list. Callers trim where they may.
//
// The package knows no keys. The callers decide what a key means.
package hadoopconf
