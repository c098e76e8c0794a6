package dynamolocal

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v3"

	template "ledger.example"
	"ledger.example/internal/local/pump"
)

// resources are the parts of template.yaml that a local stack uses. Encryption, backups, limits and tags are left out.
type resources struct {
	LedgerTable struct {
		Properties struct {
			AttributeDefinitions   []types.AttributeDefinition
			KeySchema              []types.KeySchemaElement
			GlobalSecondaryIndexes []struct {
				IndexName  *string
				KeySchema  []types.KeySchemaElement
				Projection *types.Projection
			}
			StreamSpecification types.StreamSpecification
		}
	}
	ProjectorFunction, ListerFunction                     consumer
	ProjectorFunctionPostings, ListerFunctionTransactions mapping
}

// consumer is a function that the table's stream feeds.
type consumer struct {
	Properties struct{ Timeout int } // seconds
}

// mapping is a function's event source mapping. tests/documents tests the settings that a pump does not have.
type mapping struct {
	Properties struct {
		BatchSize, MaximumBatchingWindowInSeconds int
		MaximumRetryAttempts                      int
		FilterCriteria                            struct{ Filters []struct{ Pattern string } }
	}
}

// readTemplate parses template.yaml. It replaces CloudFormation functions in short form by their arguments.
var readTemplate = sync.OnceValues(func() (r resources, err error) {
	var all struct {
		Resources map[string]any `yaml:"Resources"`
	}
	err = yaml.Unmarshal(template.YAML, &all)
	if err == nil {
		var text []byte
		if text, err = json.Marshal(all.Resources); err == nil {
			err = json.Unmarshal(text, &r)
		}
	}
	if err != nil {
		err = fmt.Errorf("template.yaml: %w", err)
	}
	return r, err
})

// Table returns the ledger's table as in template.yaml, on demand and without a name. The caller may set fields of the
// result, but must not change the values that they point to.
func Table() (*dynamodb.CreateTableInput, error) {
	r, err := readTemplate()
	p := r.LedgerTable.Properties
	p.StreamSpecification.StreamEnabled = aws.Bool(true)
	in := &dynamodb.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: p.AttributeDefinitions,
		KeySchema: p.KeySchema, StreamSpecification: &p.StreamSpecification,
	}
	for _, x := range p.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection,
		})
	}
	return in, err
}

// StreamSettings returns the settings of the projector's and of the lister's event source mapping in template.yaml.
func StreamSettings() (projector, lister pump.Settings, err error) {
	r, err := readTemplate()
	return r.ProjectorFunctionPostings.settings(r.ProjectorFunction),
		r.ListerFunctionTransactions.settings(r.ListerFunction), err
}

// settings returns the settings of a function's event source mapping.
func (m mapping) settings(of consumer) pump.Settings {
	p := m.Properties
	s := pump.Settings{
		BatchSize:            p.BatchSize,
		Window:               time.Duration(p.MaximumBatchingWindowInSeconds) * time.Second,
		MaximumRetryAttempts: p.MaximumRetryAttempts,
		Timeout:              time.Duration(of.Properties.Timeout) * time.Second,
	}
	for _, f := range p.FilterCriteria.Filters {
		s.Filters = append(s.Filters, f.Pattern)
	}
	return s
}
