package console

import (
	"bytes"
	"net/http"
	"time"
)

// streamTimeout is how long a browser may take to read a part of a page.
const streamTimeout = 30 * time.Second

// stream is the rest of a page, which is sent as it becomes known. A browser shows what it has got, without a script,
// and ends the reading when somebody stops or leaves the page.
type stream struct {
	*visit
	page
	status  int
	pending bytes.Buffer
	isBegun bool // something was sent: the status cannot change
}

// late returns the place of the rest in the text of a page. No page has it by chance, and no text of the ledger can.
func (c *Console) late() string { return "<!-- late " + c.token + " -->" }

// show adds a part of the page, in a template.
func (s *stream) show(template string, data any) error {
	var text bytes.Buffer
	if err := s.template(s.name).ExecuteTemplate(&text, template, data); err != nil {
		return err
	}
	s.pending.Write(text.Bytes())
	return nil
}

// flush sends what was added. Error: the browser is gone.
func (s *stream) flush() error {
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(streamTimeout)) // not every writer has one
	if !s.isBegun {
		s.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		s.w.WriteHeader(s.status)
		s.isBegun = true
	}
	_, err := s.w.Write(carry(s.pending.Bytes(), s.carried()))
	s.pending.Reset()
	if err == nil {
		err = control.Flush()
	}
	return err
}

// report is how far the reading of a page is.
type report struct {
	Done, Of int // Of is 0 if it is not known
	What     string
}

// reports returns the function that shows, and sends, how far the reading is. Error: the browser is gone.
func (s *stream) reports(what string) func(done, of int) error {
	return func(done, of int) error {
		if err := s.show("report", report{done, of, what}); err != nil {
			return err
		}
		return s.flush()
	}
}
