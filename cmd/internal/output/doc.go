// Package output prints what a command has to say: a table for people, the REST
// document for programs.
//
//	table wide   upper-case heads, no borders, one line a thing
//	json yaml    the document, unchanged
//	jsonl        one thing a line
//	name         the identifiers alone
//
// Data goes to stdout and talk to stderr. On a terminal, columns that may shrink
// do so until the line fits; into a pipe or a file nothing is ever cut.
package output
