// Package interop has no code: its tests run unmodified Hadoop 3.4.2 beside rmd
// and compare with the Java ResourceManager. They need a JDK and Maven and are
// built with the tag interop; README.md says how to run them and what each
// proves.
package interop
