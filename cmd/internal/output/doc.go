// Package output prints the result of a command: a table for people, the REST document for
// programs.
//
//	table wide   upper-case heads, no borders, one line for each object
//	json yaml    the document, unchanged
//	jsonl        one object a line
//	name         the identifiers alone
//
// Data goes to stdout, messages go to stderr. On a terminal, columns that may shrink do so until
// the line fits: names lose their middle, sentences and amounts their end. In a pipe or a file nothing is shortened.
package output
