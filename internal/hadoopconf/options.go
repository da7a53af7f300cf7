package hadoopconf

import (
	"errors"
	"os"
)

// Options limits what is read, and provides the environment.
type Options struct {
	// Env looks up environment variables for ${env.NAME}, ${user.name} and
	// ${user.home}.
	Env func(name string) (string, bool)

	MaxFileBytes    int64 // per file
	MaxProperties   int   // over all files
	MaxNameBytes    int
	MaxValueBytes   int // both as written and after substitution
	MaxIncludeDepth int
	MaxFiles        int // with included files
}

// DefaultOptions uses the process's environment and limits far above those of real configurations.
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

// Validate returns an error if the options are invalid.
func (o Options) Validate() error {
	if o.Env == nil {
		return errors.New("hadoopconf: options have no Env; use os.LookupEnv, or a function that finds nothing")
	}
	for _, b := range []int64{o.MaxFileBytes, int64(o.MaxProperties), int64(o.MaxNameBytes), int64(o.MaxValueBytes),
		int64(o.MaxIncludeDepth), int64(o.MaxFiles)} {
		if b <= 0 {
			return errors.New("hadoopconf: every bound of the options must be above 0")
		}
	}
	return nil
}
