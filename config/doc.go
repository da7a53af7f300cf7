// Package config reads the configuration of a replica: rmd.yaml, environment variables and flags,
// and a few keys of Hadoop's files as fallback.
//
// The file is strict. All faults of the file and of the merged values are reported at once, with
// file, line and column. For an unknown key the error names the most similar known key. Flags take
// precedence over the environment, the environment over the file, the file over Hadoop's files, and
// these over the defaults. The source of every value is known.
//
// One table (settings.go) has all keys with their meaning and type. The parser, the commented file
// of `rmd init` and `--print-config` use it. The defaults are in config.go, the bounds in check.go.
package config
