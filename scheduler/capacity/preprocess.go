package capacity

import (
	"fmt"
	"strings"

	"rmd/scheduler/capacity/preprocess"
)

// Keys of the submission preprocessor. PreprocessorKey has the contents of the file that
// PreprocessorFileKey names. The replica or command that reads the Hadoop files sets it.
const (
	preprocessorPrefix     = "yarn.resourcemanager.submission-preprocessor."
	PreprocessorEnabledKey = preprocessorPrefix + "enabled"
	PreprocessorKey        = preprocessorPrefix + "file-contents"
	PreprocessorFileKey    = preprocessorPrefix + "file-path"
)

func (r *reader) readPreprocessor(c *Config) {
	enabled := r.bool(PreprocessorEnabledKey, false)
	named := r.set(PreprocessorFileKey)
	text, ok := r.get(PreprocessorKey)
	switch {
	case !enabled:
		return
	case !ok && named:
		r.ruleFault(PreprocessorFileKey, "the contents of the file are not in "+PreprocessorKey,
			"apply the Hadoop files with \"rmd conf apply\", which reads the file, or set "+PreprocessorKey+" to its contents")
		return
	case !ok:
		r.warn(PreprocessorEnabledKey, "there is no file", "set "+PreprocessorFileKey)
		return
	}
	c.Preprocessor = preprocess.New()
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := c.Preprocessor.Add(strings.Fields(line)); err != nil {
			r.ruleFault(PreprocessorKey, fmt.Sprintf("line %d: %v", number, err),
				"write HOST NL=label Q=queue TA=tag; HOST is a name, a regular expression or *")
		}
	}
}
