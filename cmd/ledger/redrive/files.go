package redrive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Stdin is the name that stands for standard input.
const Stdin = "-"

// unknownSize is the size of what has none, such as a pipe.
const unknownSize = -1

// walk calls visit for each file that names stand for: themselves, and what is below those that are directories. A name that
// isn't there ends it at once; what cannot be looked at below a directory is given to visit as err.
func walk(ctx context.Context, names []string, visit func(file string, size int64, err error)) error {
	for _, name := range names {
		if name == Stdin {
			visit(name, unknownSize, nil)
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return err
		case !info.IsDir():
			visit(name, sizeOf(info), nil)
			continue
		}
		err = fs.WalkDir(os.DirFS(name), ".", func(path string, entry fs.DirEntry, err error) error {
			path = filepath.Join(name, path)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && entry.IsDir() {
				return nil
			}
			if err != nil {
				visit(path, unknownSize, err)
				return nil
			}
			switch info, err := os.Stat(path); { // of what a link leads to
			case err != nil:
				visit(path, unknownSize, err)
			case info.IsDir():
				visit(path, unknownSize, errors.New("a link to a directory is not followed: give it by its name"))
			default:
				visit(path, sizeOf(info), nil)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func sizeOf(info fs.FileInfo) int64 {
	if !info.Mode().IsRegular() {
		return unknownSize
	}
	return info.Size()
}

// Size returns how many bytes names stand for, -1 when that is not known. An error names what is not there.
func Size(ctx context.Context, names []string) (int64, error) {
	var total int64
	err := walk(ctx, names, func(_ string, size int64, err error) {
		switch {
		case err != nil: // told when its turn comes
		case size == unknownSize || total == unknownSize:
			total = unknownSize
		default:
			total += size
		}
	})
	return total, err
}
