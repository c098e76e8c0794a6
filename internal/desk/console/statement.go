package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"ledger.example/client"
	"ledger.example/internal/spreadsheet"
)

// download answers with a statement as a file. It calls write for each page. If it fails halfway, it aborts the
// connection, so that nobody takes a truncated file for a complete one.
func (v *visit) download(
	extension, mediaType string, write func(s client.Statement, isFirst bool) error,
) (page, error) {
	p, err := v.statement()
	if err != nil {
		return page{}, err
	}
	of := p.statement()
	isFirst := true
	for reply, err := range v.api.StatementPages(v.ctx, of) {
		switch {
		case err != nil && isFirst:
			return page{}, err
		case isFirst:
			v.attach(of.Account+"-"+of.Asset+"-"+p.FileDays()+extension, mediaType)
		}
		if err != nil || write(reply.Value, isFirst) != nil {
			panic(http.ErrAbortHandler)
		}
		isFirst = false
	}
	return page{}, nil
}

// csvType is the media type of CSV.
const csvType = "text/csv; charset=utf-8"

var notOfIDs = regexp.MustCompile(`[^A-Za-z0-9._:@-]`)

// attach makes the answer a file. Its name keeps only the characters of ids.
func (v *visit) attach(name, mediaType string) {
	name = notOfIDs.ReplaceAllLiteralString(name, "_")
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Time{}) // reading it can take long
	v.w.Header().Set("Content-Type", mediaType)
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// statement reads the period of a statement from the request, and loads the scale of its asset.
func (v *visit) statement() (period, error) {
	p, err := v.period()
	if err == nil {
		err = v.units.Load(v.ctx, p.Asset)
	}
	return p, err
}

// statementCSV answers with a statement as CSV, with decimal amounts.
func (v *visit) statementCSV() (page, error) {
	return v.download(".csv", csvType, func(s client.Statement, isFirst bool) error {
		return spreadsheet.Write(v.w, spreadsheet.Statement(s, isFirst, v.Console.units), spreadsheet.Safe)
	})
}

// statementJSON answers with all pages of a statement as one JSON object in the format of the API.
func (v *visit) statementJSON() (page, error) {
	separator := ""
	return v.download(".json", "application/json", func(s client.Statement, isFirst bool) error {
		var text bytes.Buffer
		if isFirst {
			fmt.Fprintf(&text, `{"account":%s,"asset":%s,"from":%s,"to":%s,"opening":%s,"data":[`,
				inJSON(s.Account), inJSON(s.Asset), inJSON(s.From), inJSON(s.To), inJSON(s.Opening))
		}
		for _, l := range s.Data {
			fmt.Fprintf(&text, "%s\n%s", separator, inJSON(l))
			separator = ","
		}
		if s.NextCursor == nil {
			fmt.Fprintf(&text, "],\n"+`"closing":%s,"settled":%t}`+"\n", inJSON(s.Closing), s.Settled)
		}
		_, err := text.WriteTo(v.w)
		return err
	})
}

// inJSON encodes a value of the API, which cannot fail.
func inJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return text
}
