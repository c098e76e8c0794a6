package console

import (
	"encoding/csv"
	"encoding/json"
	"net/http"

	"ledger.example/client"
	"ledger.example/events"
)

// download answers with a statement as a file. It calls write for each page. If it fails halfway, it aborts the
// connection, so that nobody takes a truncated file for a complete one.
func (c *Console) download(
	w http.ResponseWriter, r *http.Request, extension, mediaType string,
	write func(page client.Statement, isFirst bool) error,
) {
	s, err := c.statementOf(r)
	if err != nil {
		c.render(w, r, view{}, err)
		return
	}
	isFirst := true
	for page, err := range c.api.StatementPages(r.Context(), s) {
		switch {
		case err != nil && isFirst:
			c.render(w, r, view{}, err)
			return
		case isFirst:
			w.Header().Set("Content-Type", mediaType)
			w.Header().Set("Content-Disposition", `attachment; filename="`+s.Account+"-"+s.Asset+extension+`"`)
		}
		if err != nil || write(page.Value, isFirst) != nil {
			panic(http.ErrAbortHandler)
		}
		isFirst = false
	}
}

// statementOf reads the statement query from a request, and loads the scale of its asset.
func (c *Console) statementOf(r *http.Request) (client.StatementQuery, error) {
	p, err := periodOf(r)
	if err == nil {
		err = c.units.Load(r.Context(), p.Asset)
	}
	return p.statement(), err
}

// statementCSV answers with a statement as CSV, with decimal amounts.
func (c *Console) statementCSV(w http.ResponseWriter, r *http.Request) {
	c.download(w, r, ".csv", "text/csv; charset=utf-8", func(s client.Statement, isFirst bool) error {
		var rows [][]string
		add := func(at, transaction, status, description string, quantity, balance events.Amount) {
			rows = append(rows, []string{at, transaction, status, description, c.units.Quantity(s.Asset, quantity),
				c.units.Quantity(s.Asset, balance)})
		}
		if isFirst {
			rows = [][]string{{"time", "transaction", "status", "description", "quantity", "balance"}}
			add(s.From, "", "opening", "", events.Amount{}, s.Opening.Quantity)
		}
		for _, l := range s.Data {
			add(l.PostedAt, l.Transaction, l.Status, l.Description, l.Quantity, l.BalanceAfter)
		}
		if s.NextCursor == nil {
			add(s.To, "", "closing", "", events.Amount{}, s.Closing.Quantity)
		}
		return csv.NewWriter(w).WriteAll(rows)
	})
}

// statementJSON answers with all pages of a statement as one JSON object in the format of the API.
func (c *Console) statementJSON(w http.ResponseWriter, r *http.Request) {
	separator := ""
	c.download(w, r, ".json", "application/json", func(s client.Statement, isFirst bool) error {
		var text []byte
		add := func(name string, value any) {
			b, err := json.Marshal(value)
			if err != nil {
				panic(http.ErrAbortHandler) // cannot happen: these types always marshal
			}
			text = append(append(text, name...), b...)
		}
		if isFirst {
			add(`{"account":`, s.Account)
			add(`,"asset":`, s.Asset)
			add(`,"from":`, s.From)
			add(`,"to":`, s.To)
			add(`,"opening":`, s.Opening)
			text = append(text, `,"data":[`...)
		}
		for _, l := range s.Data {
			add(separator+"\n", l)
			separator = ","
		}
		if s.NextCursor == nil {
			add("],\n"+`"closing":`, s.Closing)
			add(`,"settled":`, s.Settled)
			text = append(text, "}\n"...)
		}
		_, err := w.Write(text)
		return err
	})
}
