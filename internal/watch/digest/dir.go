package digest

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/internal/durable"
	"ledger.example/internal/watch/proof"
)

// The files of an auditor's directory.
const (
	fileKey    = "key"     // private, mode 600
	filePublic = "key.pub" // to give away
	fileHashes = "hashes"  // of the tree
	fileNew    = "new"     // one of the others, until it is complete
	folder     = "notes"   // a note in each file, named by its size
	lostSuffix = ".lost"   // of a note that a restored table does not fulfill any more
)

// dir is an auditor's directory that is open. Only one process has it open.
type dir struct {
	path     string
	public   string
	verifier note.Verifier // of public
	signer   note.Signer   // of fileKey; nil until openKey
	lock     *os.File      // filePublic
	file     *os.File      // fileHashes
	notes    []kept        // ascending by size
	lost     []string      // files of lost notes
	stored   int64         // number of entries whose hashes file has
}

// kept is a note with its signed text.
type kept struct {
	proof.Note
	signed []byte
}

// NewKey makes a key in a directory, which it creates. origin names the ledger in all notes of the directory, also when
// its table has another name since a restore. Error: the directory has a key.
func NewKey(path, origin string) error {
	private, public, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(path, folder), 0o750); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, filePublic)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has a key: leave out --new-key, or take another directory", path)
	}
	if err := write(path, fileKey, []byte(private+"\n"), 0o600); err != nil {
		return err
	}
	return write(path, filePublic, []byte(public+"\n"), 0o644) // last: it shows that there is a key
}

// open opens the directory of the ledger that the command reads, with the hashes of its newest note. Errors say what to
// do.
func open(c Config) (*dir, error) {
	lock, err := os.Open(filepath.Join(c.Dir, filePublic))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no key: make one with --new-key, or give the directory of earlier digests",
			c.Dir)
	}
	if err != nil {
		return nil, err
	}
	d := &dir{path: c.Dir, lock: lock}
	if err := d.read(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *dir) read() (err error) {
	if err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another digest uses %s: wait until it ends", d.path)
	}
	if err := d.readKey(); err != nil {
		return err
	}
	if err := d.readNotes(); err != nil {
		return err
	}
	if d.file, err = os.OpenFile(filepath.Join(d.path, fileHashes), os.O_RDWR|os.O_CREATE, 0o640); err != nil {
		return err
	}
	return d.load()
}

// close closes the files, of which hashes may not be open yet, and unlocks the directory. A process that is being
// started has a copy of the open file for a moment, which would keep the lock.
func (d *dir) close() error {
	err := errors.Join(syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN), d.lock.Close())
	if d.file == nil {
		return err
	}
	return errors.Join(d.file.Close(), err)
}

// readKey reads the public key.
func (d *dir) readKey() error {
	public, err := io.ReadAll(d.lock)
	if err != nil {
		return err
	}
	d.public = strings.TrimSpace(string(public))
	if d.verifier, err = note.NewVerifier(d.public); err != nil {
		return fmt.Errorf("%s: %w: take it from a copy", d.lock.Name(), err)
	}
	return nil
}

// openKey prepares to sign notes. Only a run needs the private key.
func (d *dir) openKey() error {
	path := filepath.Join(d.path, fileKey)
	private, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d.signer, err = note.NewSigner(strings.TrimSpace(string(private)))
	if err == nil && d.signer.KeyHash() != d.verifier.KeyHash() {
		err = fmt.Errorf("it is not the key of %s", filePublic)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: take it from a copy, or begin in another directory", path, err)
	}
	return nil
}

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

// load checks that the file of hashes has those of the newest note. If some are missing, it counts as empty. Error:
// they were altered.
func (d *dir) load() error {
	newest := d.newest()
	info, err := d.file.Stat()
	if err != nil || info.Size() < tlog.StoredHashCount(newest.Size)*tlog.HashSize {
		return err
	}
	d.stored = newest.Size
	if tree, err := d.tree(); err != nil || newest.Size > 0 && tree.Root() != newest.Root {
		return errors.Join(err, fmt.Errorf("%s was altered, as its hashes differ from the note of %d entries: delete "+
			"the file, and run again, which reads the whole journal", d.file.Name(), newest.Size))
	}
	return nil
}

// tree returns the tree whose hashes are stored.
func (d *dir) tree() (proof.Tree, error) {
	return proof.TreeOf(d.stored, proof.HashFile{ReaderAt: d.file})
}

func (d *dir) noteFile(size int64) string {
	return filepath.Join(d.path, folder, strconv.FormatInt(size, 10))
}

// lostFile returns a path for a lost note that no earlier one has: SIZE.lost, SIZE.2.lost and so on.
func (d *dir) lostFile(size int64) (string, error) {
	path := d.noteFile(size) + lostSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return path, err
		}
		path = d.noteFile(size) + "." + strconv.Itoa(n) + lostSuffix
	}
}

// note signs and writes a note of a tree, up to a page of the journal. The hashes are on the disk before it is.
func (d *dir) note(tree *proof.Tree, page string) error {
	n := proof.Note{Origin: d.signer.Name(), Size: tree.Size, Root: tree.Root(), Page: page}
	signed, err := n.Sign(d.signer)
	if err != nil {
		return err
	}
	if err := d.file.Sync(); err != nil {
		return err
	}
	if err := write(d.path, filepath.Join(folder, strconv.FormatInt(n.Size, 10)), signed, 0o644); err != nil {
		return err
	}
	d.notes = append(d.notes, kept{n, signed})
	return nil
}

// write writes a file completely or not at all.
func write(path, name string, text []byte, mode fs.FileMode) error {
	return durable.WriteFile(filepath.Join(path, name), filepath.Join(path, fileNew), text, mode)
}
