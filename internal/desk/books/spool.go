package books

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
)

// spool is a temporary file of values, so that a book of any size is converted in little memory. The zero value is
// empty. It is for one goroutine.
type spool[T any] struct {
	file    *os.File // nil: empty
	out     *bufio.Writer
	encoder *gob.Encoder // keeps strings that are not UTF-8
	count   int
	err     error // the first one, which all yields
}

// add adds a value.
func (s *spool[T]) add(v T) {
	if s.count++; s.err == nil && s.file == nil {
		s.err = s.open()
	}
	if s.err == nil {
		s.err = s.encoder.Encode(v)
	}
}

func (s *spool[T]) open() (err error) {
	if s.file, err = os.CreateTemp("", "ledger-import-*"); err != nil {
		return fmt.Errorf("an import needs a temporary file: %w", err)
	}
	s.out = bufio.NewWriter(s.file)
	s.encoder = gob.NewEncoder(s.out)
	_ = os.Remove(s.file.Name()) // it stays until it is closed, also if the process is killed; Windows refuses
	return nil
}

// all iterates over the values. An error is yielded once, with a zero value, and ends the iteration.
func (s *spool[T]) all() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if s.err == nil && s.file != nil {
			s.err = s.out.Flush()
		}
		if s.err != nil {
			yield(*new(T), s.err)
			return
		}
		if s.file == nil {
			return
		}
		in := gob.NewDecoder(bufio.NewReader(io.NewSectionReader(s.file, 0, math.MaxInt64)))
		for range s.count {
			var v T
			err := in.Decode(&v)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// close removes the file.
func (s *spool[T]) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}
