package dynamolocal

import (
	"reflect"
	"strings"
	"testing"

	template "ledger.example"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/table"
)

// A local stack has the table and the stream settings of template.yaml. tests/documents tests the settings of the
// mapping that a pump does not have. Its filters are generated.
func TestTemplateSettings(t *testing.T) {
	made, err := Table()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(made.GlobalSecondaryIndexes); n != len(table.Indexes()) || made.StreamSpecification.StreamViewType != "NEW_IMAGE" {
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
	// The query role may read each index by name.
	for _, index := range table.Indexes() {
		if !strings.Contains(string(template.YAML), `"${LedgerTable.Arn}/index/`+index.Name+`"`) {
			t.Errorf("no role may query %s", index.Name)
		}
	}
}
