package table_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ledger.example/ledger/table"
)

// keySchema is a table's or an index's keys as CloudFormation writes them.
type keySchema []struct {
	AttributeName string `yaml:"AttributeName"`
	KeyType       string `yaml:"KeyType"`
}

func (s keySchema) is(partition, sort string) bool {
	return len(s) == 2 && s[0].KeyType == "HASH" && s[0].AttributeName == partition &&
		s[1].KeyType == "RANGE" && s[1].AttributeName == sort
}

// template is what the layout and template.yaml both say.
type template struct {
	Resources struct {
		Table struct {
			Properties struct {
				AttributeDefinitions []struct {
					AttributeName string `yaml:"AttributeName"`
					AttributeType string `yaml:"AttributeType"`
				} `yaml:"AttributeDefinitions"`
				KeySchema keySchema `yaml:"KeySchema"`
				Stream    struct {
					ViewType string `yaml:"StreamViewType"`
				} `yaml:"StreamSpecification"`
				Indexes []struct {
					IndexName  string    `yaml:"IndexName"`
					KeySchema  keySchema `yaml:"KeySchema"`
					Projection struct {
						ProjectionType   string   `yaml:"ProjectionType"`
						NonKeyAttributes []string `yaml:"NonKeyAttributes"`
					} `yaml:"Projection"`
				} `yaml:"GlobalSecondaryIndexes"`
			} `yaml:"Properties"`
		} `yaml:"LedgerTable"`
		Projector struct {
			Properties struct {
				Events struct {
					Postings struct {
						Properties struct {
							FilterCriteria struct {
								Filters []struct {
									Pattern string `yaml:"Pattern"`
								} `yaml:"Filters"`
							} `yaml:"FilterCriteria"`
						} `yaml:"Properties"`
					} `yaml:"Postings"`
				} `yaml:"Events"`
			} `yaml:"Properties"`
		} `yaml:"ProjectorFunction"`
	} `yaml:"Resources"`
}

// AWS builds the table and its filters from template.yaml, the code its requests from this package: they must say the
// same.
func TestTemplateSaysTheSame(t *testing.T) {
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template template
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	properties := template.Resources.Table.Properties

	if !properties.KeySchema.is(table.AttrPK, table.AttrSK) {
		t.Errorf("the table's keys are %v", properties.KeySchema)
	}
	if got := properties.Stream.ViewType; got != table.StreamView {
		t.Errorf("the stream carries %q, want %q", got, table.StreamView)
	}
	keys := map[string]bool{table.AttrPK: true, table.AttrSK: true}
	if got, want := len(properties.Indexes), len(table.Indexes()); got != want {
		t.Fatalf("%d indexes, want %d", got, want)
	}
	for i, want := range table.Indexes() {
		got := properties.Indexes[i]
		keys[want.PartitionKey], keys[want.SortKey] = true, true
		if got.IndexName != want.Name {
			t.Errorf("index %d is %s, want %s", i, got.IndexName, want.Name)
		}
		if !got.KeySchema.is(want.PartitionKey, want.SortKey) {
			t.Errorf("%s's keys are %v, want %s and %s", want.Name, got.KeySchema, want.PartitionKey, want.SortKey)
		}
		projection := "INCLUDE"
		if want.Include == nil {
			projection = "ALL"
		}
		if got.Projection.ProjectionType != projection {
			t.Errorf("%s projects %s, want %s", want.Name, got.Projection.ProjectionType, projection)
		}
		if !slices.Equal(got.Projection.NonKeyAttributes, want.Include) {
			t.Errorf("%s includes %q, want %q", want.Name, got.Projection.NonKeyAttributes, want.Include)
		}
	}

	for _, definition := range properties.AttributeDefinitions {
		if !keys[definition.AttributeName] || definition.AttributeType != "S" {
			t.Errorf("attribute %v is defined, and isn't a key of type S", definition)
		}
		delete(keys, definition.AttributeName)
	}
	for key := range keys {
		t.Errorf("key %s isn't defined", key)
	}

	filters := template.Resources.Projector.Properties.Events.Postings.Properties.FilterCriteria.Filters
	want := []string{
		`{"dynamodb":{"Keys":{"` + table.AttrSK + `":{"S":[{"prefix":"` + table.PostingPrefix + `"}]}}}}`,
		`{"dynamodb":{"Keys":{"` + table.AttrSK + `":{"S":[{"prefix":"` + table.GrantPrefix + `"}]}}}}`,
	}
	var got []string
	for _, filter := range filters {
		got = append(got, filter.Pattern)
	}
	if !slices.Equal(got, want) {
		t.Errorf("filters are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// The query role may read each index by name.
	for _, index := range table.Indexes() {
		if !strings.Contains(string(text), `"${LedgerTable.Arn}/index/`+index.Name+`"`) {
			t.Errorf("no role may query %s", index.Name)
		}
	}
}
