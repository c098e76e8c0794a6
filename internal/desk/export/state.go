package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"ledger.example/client"
)

// stateSuffix is the suffix of the file with the state of an exported file.
const stateSuffix = ".state"

// state is what an export needs to continue a file. Its file is a line of JSON, and the SHA-256 of that line in hex: a
// damaged state must not continue a book. It is about 22 bytes for each transaction and account, and what is waiting.
type state struct {
	Format  string `json:"format"`
	Version int    `json:"version"` // fileVersion of the export that wrote the file
	Cursor  string `json:"cursor"`  // of the journal. No other ledger accepts it

	Bytes  int64  `json:"bytes"`  // length of the file
	SHA256 string `json:"sha256"` // of the file, in hex
	// Settled is how many bytes at the beginning of the file never change. The rest is of Waiting: a transaction may
	// yet be listed that has the instant of one of them, and comes before it.
	Settled int64     `json:"settled"`
	Waiting []waiting `json:"waiting"`

	Transactions int64             `json:"transactions"`    // in the file
	Postings     int64             `json:"postings"`        // in the file
	Assets       []client.Asset    `json:"assets"`          // that the settled bytes define, in their order
	Accounts     []byte            `json:"accounts"`        // hashes of those that the settled bytes define
	Names        map[string]string `json:"names,omitempty"` // of accounts in the settled bytes that are not their ids
	Known        []byte            `json:"known"`           // hashes of transactions, and of holds that have ended
}

// stateOf returns the state of an exporter of which settled bytes are written. Bytes, SHA256 and the counts are of the
// whole file, and are set later.
func stateOf(e *exporter, settled int64) *state {
	s := &state{
		Format: e.Format, Version: fileVersion, Cursor: e.cursor, Settled: settled, Waiting: slices.Clone(e.waiting),
		Accounts: e.accounts.bytes(), Names: maps.Clone(e.names.of), Known: e.posted.bytes(),
	}
	for _, id := range e.definedIn {
		s.Assets = append(s.Assets, e.assets[id])
	}
	return s
}

// restore makes a new exporter what it was when the settled bytes were written.
func (s *state) restore(e *exporter) (err error) {
	e.cursor, e.waiting = s.Cursor, s.Waiting
	for _, a := range s.Assets {
		e.assets[a.ID], e.defined[a.ID] = a, true
		e.definedIn = append(e.definedIn, a.ID)
		e.format.written(a)
	}
	for id, name := range s.Names {
		e.names.set(id, name)
	}
	e.result.Transactions, e.result.Postings = s.Transactions, s.Postings
	for i, w := range e.waiting {
		switch {
		case w.Asset != nil:
			e.assets[w.Asset.ID] = *w.Asset
		case w.Transaction != nil && len(w.Transaction.AsPosted()) > 0:
			if e.waiting[i], err = postedOf(w.Transaction); err != nil {
				return err
			}
			e.result.Transactions-- // it is written again
			e.result.Postings -= int64(len(e.waiting[i].posted.legs))
		case w.Account == nil:
			return errors.New("nothing is waiting")
		}
	}
	e.result.Added = e.result.Transactions - s.Transactions
	return errors.Join(e.accounts.add(s.Accounts), e.posted.add(s.Known))
}

// bytes returns the hashes of a set in their order.
func (s seen) bytes() []byte {
	hashes := make([][16]byte, 0, len(s))
	for h := range s {
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	text := make([]byte, 0, 16*len(hashes))
	for _, h := range hashes {
		text = append(text, h[:]...)
	}
	return text
}

// add adds the hashes that bytes returned.
func (s seen) add(text []byte) error {
	if len(text)%16 != 0 {
		return errors.New("the hashes are cut")
	}
	for h := range slices.Chunk(text, 16) {
		s[[16]byte(h)] = struct{}{}
	}
	return nil
}

// text returns the content of a state's file.
func (s *state) text() ([]byte, error) {
	line, err := json.Marshal(s)
	return fmt.Appendf(line, "\n%x\n", sha256.Sum256(line)), err
}

// readState reads a state. Errors: fs.ErrNotExist; the file is not a state.
func readState(path string) (*state, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	s := new(state)
	line, sum, _ := bytes.Cut(text, []byte("\n"))
	if string(sum) != fmt.Sprintf("%x\n", sha256.Sum256(line)) || json.Unmarshal(line, s) != nil {
		return nil, fmt.Errorf("%s is not the state that an export wrote, %w: export without --continue", path,
			errAltered)
	}
	return s, nil
}

// errAltered means that a file is not what its state says.
var errAltered = errors.New("it was cut or altered")

// isOf reports whether the file at path begins with all that the state says. A longer file is what a crash left.
func (s *state) isOf(path string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return false, err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.CopyN(hash, f, s.Bytes); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	return hex.EncodeToString(hash.Sum(nil)) == s.SHA256, nil
}
