package command

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/internal/logwriter"
)

// program is one run of the command line.
type program struct {
	Streams
	version   string
	verbs     map[*cli.Command]verb // of the command tree
	clients   []*client.Client      // which Run closes
	tokenFile string                // file with the access token
	warned    map[string]bool       // token files that others can read
	lines     *logwriter.Writer     // of a server, which also prints errors through it; nil for other commands
}

// lastLines limits how long a process that ends waits for a reader of its log.
const lastLines = time.Second

// errQuietExit is the error of a command whose result is already printed. It sets the exit code
// without a line on stderr.
var errQuietExit = errors.New("exit")

type quietExit int

func (e quietExit) Error() string { return errQuietExit.Error() }

func (e quietExit) Is(target error) bool { return target == errQuietExit }
