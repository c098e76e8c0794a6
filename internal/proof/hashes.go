package proof

import (
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"
)

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
