package verb

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/internal/logwriter"
)

// Program is one run of the command line.
type Program struct {
	Streams
	Version   string
	Verbs     map[*cli.Command]Verb // of the command tree
	Clients   []*client.Client      // which Run closes
	tokenFile string                // file with the access token
	warned    map[string]bool       // what warnOnce has warned of
	Lines     *logwriter.Writer     // of a server, which also prints errors through it; nil for other commands
}

// LastLines limits how long a process that ends waits for a reader of its log.
const LastLines = time.Second

// ErrQuietExit is the error of a command whose result is already printed. It sets the exit code
// without a line on stderr.
var ErrQuietExit = errors.New("exit")

// QuietExit is an ErrQuietExit with its exit code.
type QuietExit int

func (e QuietExit) Error() string { return ErrQuietExit.Error() }

func (e QuietExit) Is(target error) bool { return target == ErrQuietExit }
