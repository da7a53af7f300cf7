// Package argparse orders the words of a command line for the parser, and reports faults before the
// parser runs.
//
// urfave/cli/v2 stops looking for flags at the first argument: in `rmd app status ID -o json` it
// would silently take "-o json" for two more arguments. Arrange walks the command tree, moves every
// flag to its command (global flags to the front), and puts the arguments last, after "--". So
// flags may be anywhere.
//
// It also reports what the library reports badly: unknown commands and flags, with the nearest
// name; a flag without its value; a flag given twice with two values.
package argparse
