// Package argparse puts the words of a command line in the order that the parser
// wants, and says what is wrong with them before it parses.
//
// urfave/cli/v2 stops looking for flags at the first argument: in
// `rmd app status ID -o json` it would take "-o json" for two more arguments,
// silently. Arrange walks the command tree instead, takes every flag to the
// command it belongs to (the global ones to the front), and puts the arguments
// last, behind "--". So flags may come anywhere.
//
// It also finds what the library says badly: unknown commands and flags, with
// the nearest name; a flag without its value; a flag given twice with two values.
package argparse
