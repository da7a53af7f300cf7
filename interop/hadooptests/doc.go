// Package hadooptests has no code: its test runs the client tests of Hadoop itself on rmd. They are
// built with the tag interop; ../README.md says how to run them.
package hadooptests
