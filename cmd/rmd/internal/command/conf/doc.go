// Package conf has the commands of the queue configuration. It reads the configurations that they, and
// other commands, get from files.
//
// A file is judged here as a replica judges it, so that "rmd conf validate" needs no cluster. Read
// conf.go first.
package conf
