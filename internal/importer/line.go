package importer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// maxLineBytes bounds a line including its end. It is four times the largest body that the API takes.
const maxLineBytes = 1 << 20

var (
	errTooLong    = errors.New("the line is longer than 1 MiB")
	byteOrderMark = []byte("\xef\xbb\xbf")
)

// line is a line of the file that is not blank.
type line struct {
	number int    // from 1, counting blank lines
	text   []byte // without the end of line; valid until the next line is read; nil: longer than maxLineBytes
	bytes  int64  // including the end of line and preceding blank lines
}

// Count returns the number of lines of a file that are not blank, as in Counts.
func Count(file io.Reader) (n int64, err error) {
	for _, err := range lines(file) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// lines reads a file line by line, with one line in memory. An error of the file ends the sequence.
func lines(file io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in := bufio.NewReaderSize(file, maxLineBytes)
		l := line{}
		for ended := false; !ended; {
			text, err := in.ReadSlice('\n')
			isTooLong := errors.Is(err, bufio.ErrBufferFull)
			l.bytes += int64(len(text))
			for errors.Is(err, bufio.ErrBufferFull) { // skip the rest of the line
				text, err = in.ReadSlice('\n')
				l.bytes += int64(len(text))
			}
			if ended = errors.Is(err, io.EOF); err != nil && !ended {
				yield(line{}, err)
				return
			}
			l.number++
			l.text = bytes.TrimSuffix(text, []byte("\n"))
			if l.number == 1 {
				l.text = bytes.TrimPrefix(l.text, byteOrderMark)
			}
			switch {
			case isTooLong:
				l.text = nil
			case len(bytes.TrimSpace(l.text)) == 0:
				continue
			}
			if !yield(l, nil) {
				return
			}
			l.bytes = 0
		}
	}
}
