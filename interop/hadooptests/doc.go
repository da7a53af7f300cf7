// Package hadooptests has only a test, which runs Hadoop's own client tests with rmd. It has the
// build tag interop. ../README.md says how to run it.
package hadooptests
