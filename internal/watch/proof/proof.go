// Package proof has the signed notes of a journal's Merkle tree, and the proofs that an entry is in it. It needs files
// only: neither the ledger nor its table. The tree is that of RFC 6962. Its leaves are the canonical forms of events,
// in the order of the journal.
package proof

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Note says what the journal held: a checkpoint (C2SP tlog-checkpoint) with one extension line.
type Note struct {
	Origin string    // the name of the key, which names the ledger
	Size   int64     // number of entries
	Root   tlog.Hash // of the tree over them
	Page   string    // KSUID of the journal's page up to which the entries were read
}

const pageLine = "page "

func (n Note) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n%s%s\n", n.Origin, n.Size, n.Root, pageLine, n.Page)
}

// Sign returns the signed text of n. The name of the signer is the origin.
func (n Note) Sign(by note.Signer) ([]byte, error) {
	n.Origin = by.Name()
	return note.Sign(&note.Note{Text: n.text()}, by)
}

// OpenNote checks that a note is signed by one of the keys, and parses it. A key is a public one in the form of
// sumdb/note.
func OpenNote(signed []byte, keys ...string) (Note, error) {
	var verifiers []note.Verifier
	for _, key := range keys {
		verifier, err := note.NewVerifier(strings.TrimSpace(key))
		if err != nil {
			return Note{}, fmt.Errorf("the public key: %w", err)
		}
		verifiers = append(verifiers, verifier)
	}
	opened, err := note.Open(signed, note.VerifierList(verifiers...))
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		origin, _, _ := strings.Cut(unverified.Note.Text, "\n")
		return Note{}, fmt.Errorf("the note is of %q, and is not signed by the key of %q: it is of another ledger, or "+
			"of another auditor", origin, verifiers[0].Name())
	}
	if err != nil {
		return Note{}, fmt.Errorf("the note was altered, or cut off: %w", err)
	}
	n, err := parseNote(opened.Text)
	isOrigin := func(s note.Signature) bool { return s.Name == n.Origin }
	if err == nil && !slices.ContainsFunc(opened.Sigs, isOrigin) {
		err = fmt.Errorf("it is of %q, and its key of %q", n.Origin, opened.Sigs[0].Name)
	}
	if err != nil {
		return Note{}, fmt.Errorf("the note: %w", err)
	}
	return n, nil
}

func parseNote(text string) (n Note, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[3], pageLine) {
		return n, errors.New("it must have an origin, a size, a root and a page, each on a line")
	}
	n.Origin, n.Page = lines[0], strings.TrimPrefix(lines[3], pageLine)
	if n.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || n.Size < 0 {
		return n, fmt.Errorf("%q is not a size", lines[1])
	}
	if n.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return n, fmt.Errorf("%q is not a root", lines[2])
	}
	if n.text() != text {
		return n, errors.New("its numbers are not in the shortest form")
	}
	return n, nil
}

// Inclusion proves that an event is an entry of the journal of a note (C2SP tlog-proof).
type Inclusion struct {
	Canonical []byte // form of the event, the proof's extra data
	Index     int64  // of the entry
	Path      tlog.RecordProof
	Signed    []byte // the note
}

const proofHeader = "c2sp.org/tlog-proof@v1\n"

// Text returns the proof's file.
func (p Inclusion) Text() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%sextra %s\nindex %d\n", proofHeader, base64.StdEncoding.EncodeToString(p.Canonical), p.Index)
	for _, hash := range p.Path {
		fmt.Fprintln(&b, hash)
	}
	return append([]byte(b.String()+"\n"), p.Signed...)
}

// ParseInclusion parses the file of a proof. Check checks it.
func ParseInclusion(file []byte) (p Inclusion, err error) {
	rest, ok := strings.CutPrefix(string(file), proofHeader)
	head, signed, isWhole := strings.Cut(rest, "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || !isWhole || len(lines) < 2 {
		return p, errors.New("it is not a tlog-proof of version 1, or it is cut off")
	}
	extra, isExtra := strings.CutPrefix(lines[0], "extra ")
	if p.Canonical, err = base64.StdEncoding.Strict().DecodeString(extra); !isExtra || err != nil {
		return p, errors.New("its second line must have the event as extra data, in base64")
	}
	index, isIndex := strings.CutPrefix(lines[1], "index ")
	p.Index, err = strconv.ParseInt(index, 10, 64)
	if !isIndex || err != nil || strconv.FormatInt(p.Index, 10) != index {
		return p, errors.New("its third line must have the index of the entry")
	}
	for i, line := range lines[2:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return p, fmt.Errorf("line %d is not a hash", i+4)
		}
		p.Path = append(p.Path, hash)
	}
	p.Signed = []byte(signed)
	return p, nil
}

// Check checks the proof and the signature of its note, which it returns.
func (p Inclusion) Check(keys ...string) (Note, error) {
	n, err := OpenNote(p.Signed, keys...)
	if err != nil {
		return n, err
	}
	if p.Index < 0 || p.Index >= n.Size {
		return n, fmt.Errorf("the index %d is not in a journal of %d entries", p.Index, n.Size)
	}
	if err := tlog.CheckRecord(p.Path, n.Size, n.Root, p.Index, tlog.RecordHash(p.Canonical)); err != nil {
		return n, errors.New("the event is not this entry of the note's journal: the event, the index, a hash or the " +
			"note was altered, or the note is of another proof")
	}
	return n, nil
}

// HashFile reads the hashes of a tree from a file: 32 bytes each, in the order of package tlog. It implements
// tlog.HashReader.
type HashFile struct{ io.ReaderAt }

// ReadHashes implements tlog.HashReader.
func (f HashFile) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if _, err := f.ReadAt(hashes[i][:], index*tlog.HashSize); err != nil {
			return nil, fmt.Errorf("read hash %d: %w", index, err)
		}
	}
	return hashes, nil
}

// Tree is a tree that grows. It keeps only what its next leaf and its root need: of each level the hash of the newest
// whole subtree. Its zero value is the empty tree. It is not safe for concurrent use.
type Tree struct {
	Size  int64 // number of entries
	whole [64]tlog.Hash
}

// TreeOf returns the tree of the first entries. r must have its hashes.
func TreeOf(size int64, r tlog.HashReader) (t Tree, err error) {
	t.Size = size
	_, err = tlog.TreeHash(size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes, err := r.ReadHashes(indexes)
		for i, hash := range hashes {
			level, _ := tlog.SplitStoredHashIndex(indexes[i])
			t.whole[level] = hash
		}
		return hashes, err
	}))
	return t, err
}

// ReadHashes returns the hashes that package tlog asks for to add an entry, and for the root: they are the newest of
// their levels.
func (t *Tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, _ := tlog.SplitStoredHashIndex(index)
		hashes[i] = t.whole[level]
	}
	return hashes, nil
}

// Add adds an entry by the hash of its leaf, and returns the hashes to store.
func (t *Tree) Add(leaf tlog.Hash) []tlog.Hash {
	hashes, _ := tlog.StoredHashesForRecordHash(t.Size, leaf, t) // ReadHashes returns no errors
	copy(t.whole[:], hashes)
	t.Size++
	return hashes
}

// Root returns the root of the tree.
func (t *Tree) Root() tlog.Hash {
	root, _ := tlog.TreeHash(t.Size, t) // ReadHashes returns no errors
	return root
}
