// Package interop has only tests. They run unmodified Hadoop 3.4.2 with rmd and compare rmd with
// the Java ResourceManager. They need a JDK and Maven, and the build tag interop. README.md says
// how to run them and what each proves.
package interop
