package hadoopconf

import (
	"errors"
	"os"
)

// Options bound what is read and say where ${env.NAME} comes from.
type Options struct {
	// Env looks up environment variables for ${env.NAME}, ${user.name} and
	// ${user.home}.
	Env func(name string) (string, bool)

	MaxFileBytes    int64 // of one file
	MaxProperties   int   // of all files
	MaxNameBytes    int
	MaxValueBytes   int // as written, and substituted
	MaxIncludeDepth int
	MaxFiles        int // includes counted
}

// DefaultOptions reads the process's environment and allows far more than any
// real configuration needs.
func DefaultOptions() Options {
	return Options{
		Env:             os.LookupEnv,
		MaxFileBytes:    32 << 20,
		MaxProperties:   200_000,
		MaxNameBytes:    4 << 10,
		MaxValueBytes:   1 << 20,
		MaxIncludeDepth: 16,
		MaxFiles:        256,
	}
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.Env == nil {
		return errors.New("hadoopconf: options have no Env; use os.LookupEnv, or a function that finds nothing")
	}
	for _, b := range []int64{o.MaxFileBytes, int64(o.MaxProperties), int64(o.MaxNameBytes), int64(o.MaxValueBytes), int64(o.MaxIncludeDepth), int64(o.MaxFiles)} {
		if b <= 0 {
			return errors.New("hadoopconf: every bound of the options must be above 0")
		}
	}
	return nil
}
