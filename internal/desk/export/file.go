package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ledger.example/client"
	"ledger.example/internal/durable"
)

// unfinished is the suffix of a file that is being written.
const unfinished = ".new"

// File is an exported file. Except for JSON lines, it has a state beside it, with which it can be continued.
//
// A crash at any point leaves the old file or the new one, each with its state: the new state is written beside the old
// one before the file is renamed, and is renamed after it. settle finishes what a crash left.
type File struct {
	path  string
	mode  fs.FileMode
	isNew bool // there is no file
}

// Open returns the file of a path, which need not exist. Error: durable.ErrNoFile; write to it as a stream.
func Open(path string) (*File, error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // the link stays
	}
	f := &File{path: path, mode: 0o666}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		f.isNew = true
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, durable.ErrNoFile)
	default:
		f.mode = info.Mode().Perm()
	}
	return f, nil
}

// Write exports a ledger from the beginning. The file appears, or replaces the one that was there, when it is whole.
// Error: also durable.ErrInUse.
func (f *File) Write(ctx context.Context, c Config) (r Result, err error) {
	out, err := f.begin()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return f.write(ctx, c, out, nil)
}

// Continue makes the file what Write would make it now. It copies what was settled, and adds what the journal has after
// it. Without a format in c, it is that of the state. A file that is missing or of an older version is exported anew:
// anew says why. Bytes after those of the state are left out, with a note. Errors: ErrWhole; a file without state; one
// that is not what its state says, or that is of another ledger; durable.ErrInUse. The file is then unchanged.
func (f *File) Continue(ctx context.Context, c Config) (r Result, anew string, err error) {
	if c.Format == Lines || f.isNew && c.Format == "" {
		return r, "", ErrWhole
	}
	out, err := f.begin() // first: another export must not replace the file after it was compared with its state
	if err != nil {
		return r, "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if f.isNew {
		r, err = f.write(ctx, c, out, nil)
		return r, "it does not exist", err
	}
	s, added, err := f.compared(c.Format)
	if err != nil {
		return r, "", err
	}
	c.Format = s.Format
	if _, err := c.Ledger.Journal(ctx, s.Cursor); err != nil {
		if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == "invalid_cursor" {
			err = fmt.Errorf("%s is of another ledger, or of this one before it was restored to an earlier time: it "+
				"stays as it is. Export to another file, or without --continue: %w", f.path, err)
		}
		return r, "", err
	}
	if s.Version != fileVersion {
		anew = fmt.Sprintf("another version of this program wrote it (%d, not %d)", s.Version, fileVersion)
		s = nil
	}
	if r, err = f.write(ctx, c, out, s); err == nil && added > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d bytes at the end of %s, of which its state does not tell, were "+
			"removed", added, f.path))
	}
	return r, anew, err
}

// begin begins the new file, as the only process that does, and finishes what a crash left of the old one.
func (f *File) begin() (*durable.File, error) {
	out, err := durable.Create(f.path, f.path+unfinished, f.mode)
	if err != nil {
		return nil, err
	}
	if err := f.settle(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// compared returns the state of the file, and how many bytes the file has beside. The file must have a format, unless
// that is "". Errors say what to do.
func (f *File) compared(format string) (s *state, added int64, err error) {
	s, err = readState(f.path + stateSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no %s beside it, which says what it has: it stays as it is. Export it without "+
			"--continue", f.path, filepath.Base(f.path)+stateSuffix)
		if format == "" {
			err = fmt.Errorf("%w (%w)", err, ErrWhole)
		}
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, err
	}
	if is, err := s.isOf(f.path); err != nil || !is {
		return nil, 0, errors.Join(err, fmt.Errorf("%s is not what the last export wrote, %w: it stays as it is. "+
			"Export to another file, or without --continue", f.path, errAltered))
	}
	if format != "" && s.Format != format {
		return nil, 0, fmt.Errorf("%s has the format %s, not %s: it stays as it is", f.path, s.Format, format)
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, 0, err
	}
	return s, info.Size() - s.Bytes, nil
}

// settle renames a new state that a crash left, if it is that of the file.
func (f *File) settle() error {
	left := f.path + stateSuffix + unfinished
	s, err := readState(left)
	if err != nil {
		return nil //nolint:nilerr // there is none, or a part of one, which the next export overwrites
	}
	if is, err := s.isOf(f.path); err != nil || !is {
		return nil //nolint:nilerr // likewise
	}
	return os.Rename(left, f.path+stateSuffix)
}

// write writes the file to out: all of it, or what comes after the state of the old one.
func (f *File) write(ctx context.Context, c Config, out *durable.File, old *state) (r Result, err error) {
	count := &counter{Writer: out, hash: sha256.New()}
	e, err := newExporter(c, count)
	if err != nil {
		return r, err
	}
	var next *state
	e.settle = func() error {
		err := e.out.Flush()
		next = stateOf(e, count.bytes)
		return err
	}
	if old == nil {
		r, err = e.whole(ctx)
	} else {
		r, err = f.rest(ctx, e, old)
	}
	if err != nil {
		return r, err
	}
	next.Bytes, next.SHA256 = count.bytes, hex.EncodeToString(count.hash.Sum(nil))
	next.Transactions, next.Postings = r.Transactions, r.Postings
	return r, f.replace(out, next)
}

// rest writes the settled bytes of the old file, and then what the journal has after its state.
func (f *File) rest(ctx context.Context, e *exporter, old *state) (Result, error) {
	settled, err := os.Open(f.path)
	if err != nil {
		return Result{}, err
	}
	_, err = io.CopyN(e.out, settled, old.Settled)
	if err = errors.Join(err, settled.Close()); err != nil {
		return Result{}, err
	}
	if err := old.restore(e); err != nil {
		return Result{}, fmt.Errorf("%s: %w", f.path+stateSuffix, err)
	}
	return e.finish(e.run(ctx))
}

// replace gives a new file and its state their names. JSON lines have no state.
func (f *File) replace(out *durable.File, next *state) (err error) {
	if !f.isNew { // else the process's mask counts
		err = out.Chmod(f.mode)
	}
	if err = errors.Join(err, out.Sync()); err != nil {
		return err
	}
	path := f.path + stateSuffix
	if next.Format == Lines {
		err := out.Name()
		if removed := os.Remove(path); err == nil && !errors.Is(removed, fs.ErrNotExist) {
			err = removed
		}
		return err
	}
	text, err := next.text()
	if err != nil {
		return err
	}
	state, err := durable.Create(path, path+unfinished, f.mode)
	if err != nil {
		return err
	}
	_, err = state.Write(text)
	if err = errors.Join(err, state.Sync()); err == nil {
		err = out.Name()
	}
	if err == nil {
		err = state.Name()
	}
	return errors.Join(err, state.Close())
}

// counter counts and hashes what is written.
type counter struct {
	io.Writer
	bytes int64
	hash  hash.Hash
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	c.hash.Write(p[:n])
	return n, err
}
