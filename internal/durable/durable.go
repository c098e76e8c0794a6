// Package durable writes files that a crash cannot leave half written.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file completely or not at all, by way of another file in the same directory, and replaces one that
// exists. When it returns without an error, a loss of power cannot undo it. What a crash leaves of the other file is
// overwritten by the next one.
func WriteFile(path, unfinished string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
