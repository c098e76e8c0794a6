package importer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// maxLineBytes bounds a line with its end: four times the largest body that the API takes.
const maxLineBytes = 1 << 20

var (
	errTooLong    = errors.New("the line has more than 1 MiB")
	byteOrderMark = []byte("\xef\xbb\xbf")
)

// line is one line of the file that is not blank.
type line struct {
	number int    // from 1, blank lines counted
	text   []byte // without the end of line; valid until the next line is read; nil: it is above maxLineBytes
	bytes  int64  // read since the line before, ends and blank lines included
}

// lines reads a file line by line, and holds one. An error of the file ends it.
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
