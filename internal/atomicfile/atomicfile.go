// Package atomicfile replaces files as a whole.
package atomicfile

import (
	"errors"
	"os"
)

// Write replaces the content of a file that only its owner may read. After a crash the file has the old
// or the new content. On an error it has the old one, and nothing else is left on the disk.
func Write(path string, data []byte) error {
	tmp := path + ".tmp"
	err := writeSynced(tmp, data)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // it may not exist
	}
	return err
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
