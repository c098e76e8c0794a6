package dynamolocal

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	template "ledger.example"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/store"
)

// A local stack has the table and the stream settings of template.yaml. tests/documents tests the settings of the
// mapping that a pump does not have.
func TestTemplateSettings(t *testing.T) {
	made, err := Table()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(made.GlobalSecondaryIndexes); n != len(store.Indexes()) || made.StreamSpecification.StreamViewType != "NEW_IMAGE" {
		t.Errorf("%d indexes, stream %+v", n, made.StreamSpecification)
	}
	settings, lister, err := StreamSettings()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []pump.Settings{settings, lister} {
		if _, err := pump.New(pump.Options{Settings: s}); err != nil {
			t.Error(err)
		}
		for i, v := 0, reflect.ValueOf(s); i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("%s is zero", v.Type().Field(i).Name)
			}
		}
	}
	// CreateTable compares the table itself with the layout.
	var projected, others, journaled []string
	for _, item := range store.ItemTypes() {
		prefix, list := `{"prefix":"`+item.Prefix()+`"}`, &others
		if store.IsProjected(item.Prefix()) {
			list = &projected
		}
		if store.IsEvent(item.Prefix()) && !slices.Contains(*list, prefix) {
			*list = append(*list, prefix)
		}
		if store.IsJournaled(item.Prefix()) && !slices.Contains(journaled, prefix) {
			journaled = append(journaled, prefix)
		}
	}
	filtered := func(prefixes ...string) string {
		return `"dynamodb":{"Keys":{"` + store.AttrSK + `":{"S":[` + strings.Join(prefixes, ",") + `]}}}}`
	}
	want := []string{
		`{` + filtered(projected[0]),
		`{` + filtered(projected[1:]...),
		`{"dynamodb":{"NewImage":{"` + store.AttrPK + `":{"S":[{"exists":false}]}}}}`,
		`{"eventName":["MODIFY"],` + filtered(others...),
	}
	if got := settings.Filters; !slices.Equal(got, want) {
		t.Errorf("filters are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	want = []string{`{"eventName":["INSERT"],` + filtered(journaled...)}
	if got := lister.Filters; !slices.Equal(got, want) {
		t.Errorf("the lister's filters are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// The query role may read each index by name.
	for _, index := range store.Indexes() {
		if !strings.Contains(string(template.YAML), `"${LedgerTable.Arn}/index/`+index.Name+`"`) {
			t.Errorf("no role may query %s", index.Name)
		}
	}
}
