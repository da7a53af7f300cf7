// Package config reads the configuration of a replica: rmd.yaml, environment
// and flags, and the few keys of Hadoop's files that it falls back to.
//
// The file is strict. Every fault of it, and of the values once all sources are
// laid over each other, is reported at once: with file, line and column, and
// where a key is not known with the nearest one that is. Flags win over the
// environment, that over the file, that over Hadoop's files, those over the
// defaults; of every value it is known where it came from.
//
// One table (settings.go) holds all keys: name, meaning, default, bounds. The
// parser, the commented file of `rmd init`, `--print-config` and the documentation
// of bounds are made from it.
package config
