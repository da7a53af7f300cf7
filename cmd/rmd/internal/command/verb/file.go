package verb

import (
	"io"
	"io/fs"
	"os"

	"rmd/cmd/internal/clierr"
)

// ReadFile reads a file of at most most bytes. The limit matters because a device may have no end.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := ReadAll(f, most+1)
	if err == nil && int64(len(b)) > most {
		err = clierr.New(clierr.CodeFile, "name another file", "%s has more than the %d bytes that it may have", path, most)
	}
	return b, err
}

// ReadAll reads at most most bytes.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	if r == nil {
		return nil, fs.ErrClosed
	}
	return io.ReadAll(io.LimitReader(r, most))
}

// BodyMax is the maximum size of a request body in bytes.
const BodyMax = 4 << 20
