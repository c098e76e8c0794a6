package digest

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/internal/proof"
)

// The files of an auditor's directory.
const (
	fileKey    = "key"     // private, mode 600
	filePublic = "key.pub" // to give away
	fileHashes = "hashes"  // of the tree
	folder     = "notes"   // a note in each file, named by its size
	lostSuffix = ".lost"   // of a note that a restored table does not fulfill any more
)

// dir is an auditor's directory that is open. Only one process has it open.
type dir struct {
	path   string
	signer note.Signer
	public string
	file   *os.File      // fileHashes, locked
	notes  []kept        // ascending by size
	lost   []string      // files of lost notes
	hashes *proof.Hashes // of file
}

// kept is a note with its signed text.
type kept struct {
	proof.Note
	signed []byte
}

// NewKey makes a key in a directory, which it creates. origin names the ledger. Error: the directory has a key.
func NewKey(path, origin string) error {
	private, public, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(path, folder), 0o750); err != nil {
		return err
	}
	key := filepath.Join(path, fileKey)
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has a key: leave out --new-key, or take another directory", path)
	}
	if err := writeFile(filepath.Join(path, filePublic), []byte(public+"\n"), 0o644); err != nil {
		return err
	}
	return writeFile(key, []byte(private+"\n"), 0o600)
}

// open opens a directory. origin is that of the ledger that the command reads. Errors say what to do.
func open(path, origin string) (*dir, error) {
	private, err := os.ReadFile(filepath.Join(path, fileKey))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no key: make one with --new-key, or give the directory of earlier digests", path)
	}
	if err != nil {
		return nil, err
	}
	d := &dir{path: path}
	if d.signer, err = note.NewSigner(strings.TrimSpace(string(private))); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, fileKey), err)
	}
	if name := d.signer.Name(); name != origin {
		return nil, fmt.Errorf("%s is the directory of %q, and the table is that of %q: give its own directory", path,
			name, origin)
	}
	public, err := os.ReadFile(filepath.Join(path, filePublic))
	if err != nil {
		return nil, err
	}
	d.public = strings.TrimSpace(string(public))
	if d.file, err = os.OpenFile(filepath.Join(path, fileHashes), os.O_RDWR|os.O_CREATE, 0o640); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another digest uses %s: wait until it ends", path), d.file.Close())
	}
	if err := d.readNotes(); err != nil {
		return nil, errors.Join(err, d.file.Close())
	}
	return d, nil
}

func (d *dir) close() error { return d.file.Close() }

// readNotes reads all notes and checks their signatures.
func (d *dir) readNotes() error {
	files, err := os.ReadDir(filepath.Join(d.path, folder))
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(d.path, folder, f.Name())
		switch size, err := strconv.ParseInt(f.Name(), 10, 64); {
		case strings.HasSuffix(f.Name(), lostSuffix):
			d.lost = append(d.lost, path)
		case err != nil: // of a crash, or of another program
		default:
			signed, err := os.ReadFile(path) //nolint:gosec // the user names the directory
			if err != nil {
				return err
			}
			n, err := proof.OpenNote(signed, d.public)
			if err == nil && n.Size != size {
				err = fmt.Errorf("the note has the size %d", n.Size)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			d.notes = append(d.notes, kept{n, signed})
		}
	}
	slices.SortFunc(d.notes, func(a, b kept) int { return cmp.Compare(a.Size, b.Size) })
	return nil
}

// newest returns the newest note, a zero one if there is none.
func (d *dir) newest() (n kept) {
	if len(d.notes) > 0 {
		n = d.notes[len(d.notes)-1]
	}
	return n
}

// load prepares the hashes of the newest note. What a crash wrote beyond is cut off. ok is false if hashes are missing:
// then the tree begins anew. Error: the hashes were altered.
func (d *dir) load() (ok bool, err error) {
	newest := d.newest()
	info, err := d.file.Stat()
	if err != nil {
		return false, err
	}
	count := tlog.StoredHashCount(newest.Size)
	if ok = info.Size() >= count*tlog.HashSize; !ok {
		newest, count = kept{}, 0
	}
	d.hashes = &proof.Hashes{File: d.file, Written: count, Size: newest.Size}
	if newest.Size > 0 {
		root, err := d.hashes.Root(newest.Size)
		if err != nil {
			return false, err
		}
		if root != newest.Root {
			return false, fmt.Errorf("%s was altered, as its hashes differ from the note of %d entries: delete the "+
				"file, and run again, which reads the whole journal", filepath.Join(d.path, fileHashes), newest.Size)
		}
	}
	return ok, d.file.Truncate(count * tlog.HashSize)
}

// flush writes the pending hashes.
func (d *dir) flush() error {
	text := make([]byte, 0, len(d.hashes.Pending)*tlog.HashSize)
	for _, hash := range d.hashes.Pending {
		text = append(text, hash[:]...)
	}
	if _, err := d.file.WriteAt(text, d.hashes.Written*tlog.HashSize); err != nil {
		return err
	}
	d.hashes.Written += int64(len(d.hashes.Pending))
	d.hashes.Pending = d.hashes.Pending[:0]
	return nil
}

// note signs and writes a note of all entries, up to a page of the journal. The hashes are on the disk before it is.
func (d *dir) note(page string) error {
	root, err := d.hashes.Root(d.hashes.Size)
	if err != nil {
		return err
	}
	n := proof.Note{Origin: d.signer.Name(), Size: d.hashes.Size, Root: root, Page: page}
	signed, err := n.Sign(d.signer)
	if err != nil {
		return err
	}
	if err := d.flush(); err != nil {
		return err
	}
	if err := d.file.Sync(); err != nil {
		return err
	}
	path := filepath.Join(d.path, folder, strconv.FormatInt(n.Size, 10))
	if err := writeFile(path, signed, 0o644); err != nil {
		return err
	}
	d.notes = append(d.notes, kept{n, signed})
	return nil
}

// writeFile writes a file completely or not at all.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { _, err := f.Write(text); return err },
		func() error { return f.Chmod(mode) },
		f.Sync,
	} {
		if err := step(); err != nil {
			return errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
