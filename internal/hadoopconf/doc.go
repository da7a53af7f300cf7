// Package hadoopconf reads and writes Hadoop's XML configuration files:
// <property> with name, value and final, ${…} substitution, xi:include, and
// several files layered over each other.
//
// Every property knows the file and line it came from, and a faulty set of
// files is refused with all its faults, each with file and line. Sizes, counts
// and depths are bounded, so a damaged or hostile file costs little.
//
// Values are kept as written, blanks included, as Hadoop keeps them: in an
// access list a leading blank has a meaning. Readers trim where they may.
//
// The package knows no keys. What a key means is decided by who reads it.
package hadoopconf
