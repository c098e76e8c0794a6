package books

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"

	"ledger.example/client"
)

// Lines has the lines of an import, each with its position in the book. Its requests are in a temporary file, and of
// each, some two hundred bytes are in memory.
type Lines struct {
	Notes     []string // parts of the book that are not imported, for people
	Replayed  int64    // entries without a line, because the ledger has them
	OtherText []Again  // likewise, but with another text, which stays

	definitions [][]byte // lines of assets, accounts, and opening entries
	defined     []Position
	openings    []*request    // that are sent together
	requests    spool[[]byte] // JSON, without ids
	entries     []entry       // of the requests
	sent        []int32       // indexes of entries that have a line
	bytes       int64         // of all lines
	again       *again
}

// entry is what is in memory of a request.
type entry struct {
	at            Position
	id            string // of its tag
	key           key
	text, similar digest
	bytes, split  int32 // of its JSON without an id; see request.split
	number        int32 // of its id; 0: none yet
	postings      int16
	found         Found // what the ledger has under its id
	isTagged      bool
	isTogether    bool // it is sent with other parts, in one atomic batch
}

// Close removes the temporary file.
func (l *Lines) Close() { l.requests.close() }

// id returns the id of an entry.
func (l *Lines) id(e *entry) string {
	if e.isTagged {
		return e.id
	}
	return e.key.numbered(int(e.number))
}

// add adds a request, which has an id if its entry has a tag with one.
func (m *mapping) add(r *request) {
	at := m.interned(r.at)
	e := entry{at: at, id: r.ID, isTagged: r.ID != "", split: r.split, postings: int16(len(r.Postings))}
	e.key, e.text = keyOf(day(r.TransactionRequest), r.Postings), textOf(r.Description, r.Metadata)
	e.similar = similar(day(r.TransactionRequest), r.Description, r.Postings)
	r.ID = ""
	text, err := json.Marshal(r.TransactionRequest)
	if err != nil {
		m.wrong(r.at, "%v", err)
		return
	}
	e.bytes = int32(len(text))
	m.out.requests.add(text)
	m.out.entries = append(m.out.entries, e)
}

// arrange finds the new parts of entries that are sent together, and the entries that have a line.
func (l *Lines) arrange() {
	var isNew []int32
	for i, e := range l.entries {
		if e.found == Another {
			isNew = append(isNew, int32(i))
		}
	}
	for len(isNew) > 0 {
		n, items := 1, 1+int(l.entries[isNew[0]].postings)
		for ; n < len(isNew) && l.areParts(isNew[0], isNew[n]); n++ {
			items += 1 + int(l.entries[isNew[n]].postings)
		}
		for _, i := range isNew[:n] {
			if l.entries[i].isTogether = n > 1 && items <= batchItems; !l.entries[i].isTogether {
				l.sent = append(l.sent, i)
			}
		}
		isNew = isNew[n:]
	}
	for _, i := range l.sent {
		e := &l.entries[i]
		l.bytes += int64(len(lineStart)+len(lineEnd)+len(l.id(e))) + int64(e.bytes)
	}
}

func (l *Lines) areParts(i, n int32) bool {
	return l.entries[i].split > 0 && l.entries[i].split == l.entries[n].split
}

// The beginning of a request without an id, and what stands around one in a line.
const (
	noID      = `{"id":""`
	lineStart = `{"transaction":`
	lineEnd   = "}\n"
)

// lines iterates over the lines.
func (l *Lines) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, line := range l.definitions {
			if !yield(line, nil) {
				return
			}
		}
		for request, err := range l.selected(func(e *entry) bool { return e.found == Another && !e.isTogether }) {
			line := slices.Concat([]byte(lineStart), request.text, []byte(lineEnd))
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// outgoing is a request with its id, as JSON.
type outgoing struct {
	text []byte
	*entry
}

// selected iterates over some requests.
func (l *Lines) selected(isWanted func(*entry) bool) iter.Seq2[outgoing, error] {
	return func(yield func(outgoing, error) bool) {
		n := 0
		for text, err := range l.requests.all() {
			if err != nil {
				yield(outgoing{}, err)
				return
			}
			e := &l.entries[n]
			if n++; !isWanted(e) {
				continue
			}
			rest, ok := bytes.CutPrefix(text, []byte(noID))
			if !ok {
				yield(outgoing{}, fmt.Errorf("a request does not begin with %s: %s", noID, text))
				return
			}
			named := slices.Concat([]byte(`{"id":"`+l.id(e)+`"`), rest) // an id needs no escapes
			if !yield(outgoing{named, e}, nil) {
				return
			}
		}
	}
}

// Count returns the number of lines, and their bytes.
func (l *Lines) Count() (lines, bytes int64) {
	for _, line := range l.definitions {
		bytes += int64(len(line))
	}
	return int64(len(l.definitions) + len(l.sent)), bytes + l.bytes
}

// Position returns the position in the book of a line, from 1.
func (l *Lines) Position(line int) Position {
	if line--; line < len(l.defined) {
		return l.defined[line]
	}
	return l.entries[l.sent[line-len(l.defined)]].at
}

// Reader returns a reader of the lines. It must be closed.
func (l *Lines) Reader() io.ReadCloser {
	next, stop := iter.Pull2(l.lines())
	return &lineReader{next: next, stop: stop}
}

type lineReader struct {
	next func() ([]byte, error, bool)
	stop func()
	rest []byte
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		line, err, ok := r.next()
		if !ok {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		r.rest = line
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *lineReader) Close() error {
	r.stop()
	return nil
}

// Together is the new part of an entry that must be posted as one.
type Together struct {
	Position
	Requests []client.Request
}

// Together iterates over the entries whose parts are sent in one atomic batch, after the lines.
func (l *Lines) Together() iter.Seq2[Together, error] {
	return func(yield func(Together, error) bool) {
		var whole Together
		for _, r := range l.openings {
			whole.Position, whole.Requests = r.at, append(whole.Requests, r.TransactionRequest)
		}
		split := int32(0)
		flush := func() bool { return len(whole.Requests) == 0 || yield(whole, nil) }
		for request, err := range l.selected(func(e *entry) bool { return e.isTogether }) {
			var r client.TransactionRequest
			if err == nil {
				err = json.Unmarshal(request.text, &r)
			}
			if err != nil {
				yield(Together{}, err)
				return
			}
			if request.split != split {
				if !flush() {
					return
				}
				whole, split = Together{Position: request.at}, request.split
			}
			whole.Requests = append(whole.Requests, r)
		}
		flush()
	}
}
