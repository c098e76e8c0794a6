package declared_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/functions/api"
)

// Each field that a request may set is named in the documents of the API, as code or in an example.
func TestEachFieldIsDocumented(t *testing.T) {
	var documents strings.Builder
	for _, name := range []string{"api.md", "access.md", "closing.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		documents.Write(text)
	}
	fields := 0
	for _, o := range api.Operations() {
		if o.In == nil || o.Method == "GET" {
			continue
		}
		for _, f := range client.FieldsOf(o.In) {
			if !f.IsSettable() {
				continue
			}
			fields++
			if !strings.Contains(documents.String(), "`"+f.JSON+"`") && !strings.Contains(documents.String(), `"`+f.JSON+`":`) {
				t.Errorf("docs/api.md does not name the field %s of %s", f.JSON, o.ID)
			}
		}
	}
	if fields < 30 {
		t.Errorf("only %d fields", fields)
	}
}
