package books

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"

	"ledger.example/events"
)

// ReadIDs reads the file of --ids, "" for none: lines of CSV with a name of an account or commodity in a book, and the
// id for it.
func ReadIDs(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(withoutMark(f))
	r.FieldsPerRecord = 2
	ids := make(map[string]string)
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
		if err != nil {
			return nil, fmt.Errorf("--ids %s: each line has a name and an id, with a comma between them: %w", file, err)
		}
		line, _ := r.FieldPos(0)
		name, id := row[0], row[1]
		switch other, isGiven := ids[name]; {
		case line == 1 && name == "name" && id == "id": // a header
			continue
		case !events.ValidID(id):
			return nil, fmt.Errorf("--ids %s:%d: %q is not an id: it %s", file, line, id, events.IDRule)
		case isGiven && other != id:
			return nil, fmt.Errorf("--ids %s:%d: %q has the id %q already", file, line, name, other)
		}
		ids[name] = id
	}
}

// withoutMark returns a reader without the byte order mark that some spreadsheets write.
func withoutMark(file io.Reader) io.Reader {
	in := bufio.NewReader(file)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // it is buffered
	}
	return in
}

const byteOrderMark = "\xef\xbb\xbf"
