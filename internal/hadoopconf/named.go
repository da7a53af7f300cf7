package hadoopconf

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file that a key names. It fails without reading everything if the file is larger
// than max bytes, because a device may have no end.
func ReadFile(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the file was only read
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		err = fmt.Errorf("%s is larger than %d bytes", path, max)
	}
	return b, err
}
