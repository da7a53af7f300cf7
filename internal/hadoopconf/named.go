package hadoopconf

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file that a key names, of at most max bytes. It does not read a larger file to its
// end, because a device may have none.
func ReadFile(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		err = fmt.Errorf("%s is larger than %d bytes", path, max)
	}
	return b, err
}
