// Package durable writes files that a crash cannot leave half written.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// File is a file that appears under its name when it is whole. Until then, it is another file in the same directory.
// What a crash leaves of that one is overwritten by the next File. It is not safe for concurrent use.
type File struct {
	*os.File
	path    string
	isNamed bool
}

// ErrInUse means that another process writes the file.
var ErrInUse = errors.New("another process writes the file")

// ErrNoFile means that a path is that of a device, a pipe or a directory.
var ErrNoFile = errors.New("it is not a regular file")

// Create begins a file. A file at path stays until Name replaces it. Sync comes before Name, and Close last.
// unfinished is in the same directory. Error: ErrInUse, ErrNoFile, and those of os.OpenFile.
func Create(path, unfinished string, mode fs.FileMode) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrNoFile) // Name would replace a device by a file
	}
	f, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE, mode) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	err = lock(f)
	if err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{File: f, path: path}, nil
}

// lock fails if another process has f locked, or has renamed it meanwhile.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%w: %s is locked", ErrInUse, f.Name())
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(f.Name()); err != nil || !os.SameFile(opened, named) {
		return errors.Join(fmt.Errorf("%w: %s was renamed", ErrInUse, f.Name()), err)
	}
	return nil
}

// Name gives a file its name, after a Sync. When it returns without an error, a loss of power cannot undo it.
func (f *File) Name() error {
	if err := os.Rename(f.File.Name(), f.path); err != nil {
		return err
	}
	f.isNamed = true
	dir, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Close closes a file, and removes it if it has no name yet.
func (f *File) Close() error {
	if !f.isNamed {
		return errors.Join(os.Remove(f.File.Name()), f.File.Close())
	}
	return f.File.Close()
}

// WriteFile writes a file completely or not at all. See File for unfinished.
func WriteFile(path, unfinished string, text []byte, mode fs.FileMode) error {
	f, err := Create(path, unfinished, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode)); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Name()
	}
	return errors.Join(err, f.Close())
}
