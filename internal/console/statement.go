package console

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/units"
)

// file is a statement that is written line by line.
type file interface {
	begin(client.Statement)
	line(client.StatementLine)
	end(client.Statement) error
}

// download answers with a statement as a file. One that fails halfway breaks off: a part must not be taken for the
// whole.
func (c *Console) download(
	w http.ResponseWriter, r *http.Request, ending, mediaType string, open func(client.StatementQuery) file,
) {
	s, err := c.statementOf(r)
	if err != nil {
		c.show(w, r, view{}, err)
		return
	}
	out, isFirst := open(s), true
	var last client.Statement
	for page, err := range c.api.StatementPages(r.Context(), s) {
		switch {
		case err != nil && isFirst:
			c.show(w, r, view{}, err)
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		case isFirst:
			w.Header().Set("Content-Type", mediaType)
			w.Header().Set("Content-Disposition", `attachment; filename="`+s.Account+"-"+s.Asset+ending+`"`)
			out.begin(page.Value)
		}
		isFirst, last = false, page.Value
		for _, l := range last.Data {
			out.line(l)
		}
	}
	if out.end(last) != nil {
		panic(http.ErrAbortHandler)
	}
}

// statementOf reads which statement is asked for, in an asset whose scale is then known.
func (c *Console) statementOf(r *http.Request) (client.StatementQuery, error) {
	p, err := pastOf(r)
	if err == nil {
		err = c.units.Load(r.Context(), p.Asset)
	}
	return p.statement(), err
}

// statementCSV answers with a statement in decimals.
func (c *Console) statementCSV(w http.ResponseWriter, r *http.Request) {
	c.download(w, r, ".csv", "text/csv; charset=utf-8", func(s client.StatementQuery) file {
		return csvFile{csv.NewWriter(w), c.units, s}
	})
}

type csvFile struct {
	*csv.Writer
	units *units.Units
	of    client.StatementQuery
}

func (f csvFile) row(at, transaction, status, description string, quantity, balance events.Amount) {
	_ = f.Write([]string{at, transaction, status, description, // its error stays until the end
		f.units.Quantity(f.of.Asset, quantity), f.units.Quantity(f.of.Asset, balance)})
}

func (f csvFile) begin(s client.Statement) {
	_ = f.Write([]string{"time", "transaction", "status", "description", "quantity", "balance"})
	f.row(s.From, "", "opening", "", events.Amount{}, s.Opening.Quantity)
}

func (f csvFile) line(l client.StatementLine) {
	f.row(l.PostedAt, l.Transaction, l.Status, l.Description, l.Quantity, l.BalanceAfter)
}

func (f csvFile) end(s client.Statement) error {
	f.row(s.To, "", "closing", "", events.Amount{}, s.Closing.Quantity)
	f.Flush()
	return f.Error()
}

// statementJSON answers with all pages of a statement as one, as the API writes them.
func (c *Console) statementJSON(w http.ResponseWriter, r *http.Request) {
	c.download(w, r, ".json", "application/json", func(client.StatementQuery) file { return &jsonFile{out: w} })
}

type jsonFile struct {
	out    io.Writer
	before string // what parts a line from what stands before it
	err    error
}

// put writes texts and values, in turn. The first error stays.
func (f *jsonFile) put(parts ...any) {
	for i, part := range parts {
		text, _ := part.(string)
		b := []byte(text)
		if i%2 == 1 && f.err == nil {
			b, f.err = json.Marshal(part)
		}
		if f.err == nil {
			_, f.err = f.out.Write(b)
		}
	}
}

func (f *jsonFile) begin(s client.Statement) {
	f.put(`{"account":`, s.Account, `,"asset":`, s.Asset, `,"from":`, s.From, `,"to":`, s.To, `,"opening":`, s.Opening,
		`,"data":[`)
}

func (f *jsonFile) line(l client.StatementLine) {
	f.put(f.before+"\n", l)
	f.before = ","
}

func (f *jsonFile) end(s client.Statement) error {
	f.put("],\n"+`"closing":`, s.Closing, `,"settled":`, s.Settled, "}\n")
	return f.err
}
