package proof

import (
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"
)

// Hashes are the stored hashes of a tree, in the order of package tlog: a file of 32 bytes each, and those that are not
// written yet. It is not safe for concurrent use.
type Hashes struct {
	File    io.ReaderAt
	Written int64 // number of hashes in File
	Pending []tlog.Hash
	Size    int64 // number of entries
}

// ReadHashes implements tlog.HashReader.
func (h *Hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index >= h.Written {
			if index-h.Written >= int64(len(h.Pending)) {
				return nil, fmt.Errorf("the hashes end before number %d", index)
			}
			hashes[i] = h.Pending[index-h.Written]
			continue
		}
		if _, err := h.File.ReadAt(hashes[i][:], index*tlog.HashSize); err != nil {
			return nil, fmt.Errorf("read hash %d: %w", index, err)
		}
	}
	return hashes, nil
}

// Add adds an entry by the hash of its leaf.
func (h *Hashes) Add(leaf tlog.Hash) error {
	more, err := tlog.StoredHashesForRecordHash(h.Size, leaf, h)
	if err != nil {
		return err
	}
	h.Pending = append(h.Pending, more...)
	h.Size++
	return nil
}

// Leaf returns the hash of an entry.
func (h *Hashes) Leaf(index int64) (tlog.Hash, error) {
	found, err := h.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
	if err != nil {
		return tlog.Hash{}, err
	}
	return found[0], nil
}

// Root returns the root of the tree over the first entries.
func (h *Hashes) Root(size int64) (tlog.Hash, error) {
	if size > h.Size {
		return tlog.Hash{}, fmt.Errorf("the tree has %d entries, not %d", h.Size, size)
	}
	return tlog.TreeHash(size, h)
}
