package importer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLineBytes bounds a line: four times the largest body that the API takes.
const maxLineBytes = 1 << 20

var (
	errLineTooLong = errors.New("the line has more than 1 MiB")
	byteOrderMark  = []byte("\xef\xbb\xbf")
)

// line is one line of the file that holds anything.
type line struct {
	number int    // from 1, blank lines counted
	text   []byte // without the end of line; the reader's own until the next call
	bytes  int64  // read since the line before, ends and blank lines included
	err    error  // errLineTooLong: text is nil
}

// lines reads a file line by line, holding one at a time.
type lines struct {
	r      *bufio.Reader
	number int
	buffer []byte
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line that is not blank; io.EOF at the end, or what the file's reader returned.
func (l *lines) next() (line, error) {
	var passed int64
	for {
		text, read, tooLong, err := l.raw()
		if err != nil {
			return line{}, err
		}
		passed += read
		if l.number == 1 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		switch {
		case tooLong:
			return line{number: l.number, bytes: passed, err: errLineTooLong}, nil
		case len(bytes.TrimSpace(text)) > 0:
			return line{number: l.number, bytes: passed, text: text}, nil
		}
	}
}

// raw reads through the next end of line. What goes beyond maxLineBytes is read and dropped.
func (l *lines) raw() (text []byte, read int64, tooLong bool, err error) {
	l.buffer = l.buffer[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		read += int64(len(part))
		if tooLong = tooLong || len(l.buffer)+len(part) > maxLineBytes+1; !tooLong {
			l.buffer = append(l.buffer, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && read > 0, err == nil:
			l.number++
			return bytes.TrimSuffix(l.buffer, []byte("\n")), read, tooLong, nil
		}
		return nil, read, false, err
	}
}
