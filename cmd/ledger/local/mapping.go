package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/cmd/ledger/pump"
)

// functionProperties are what is read of an AWS::Serverless::Function.
type functionProperties struct {
	Timeout *int // seconds
	Events  map[string]struct {
		Type       string
		Properties json.RawMessage
	}
}

// mappingProperties are what is read of a function's event of type DynamoDB,
// from which SAM makes an event source mapping. A nil has Lambda's default.
type mappingProperties struct {
	BatchSize                      *int
	MaximumBatchingWindowInSeconds *int
	MaximumRetryAttempts           *int
	MaximumRecordAgeInSeconds      *int
	ParallelizationFactor          *int
	BisectBatchOnFunctionError     bool
	FunctionResponseTypes          []string
	StartingPosition               string
	FilterCriteria                 struct {
		Filters []struct{ Pattern string }
	}
	// Enabled and what makes another kind of mapping are refused, not ignored.
	Enabled                 *bool
	TumblingWindowInSeconds *int
}

const (
	defaultBatchSize      = 100             // of a mapping for a stream (AWS Lambda API)
	defaultTimeout        = 3 * time.Second // of a function (AWS Lambda API)
	reportBatchItemFailed = "ReportBatchItemFailures"
)

// SettingsFromTemplate reads how a SAM template feeds a table's stream to a
// function: the one event of type DynamoDB in it, and the function's time-out.
func SettingsFromTemplate(template []byte) (pump.Settings, error) {
	s, err := parseTemplate(template)
	if err != nil {
		return pump.Settings{}, err
	}
	var found []pump.Settings
	for name, r := range s.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		var f functionProperties
		if err := json.Unmarshal(r.Properties, &f); err != nil {
			return pump.Settings{}, fmt.Errorf("template: %s: %w", name, err)
		}
		for event, e := range f.Events {
			if e.Type != "DynamoDB" {
				continue
			}
			settings, err := mappingSettings(e.Properties)
			if err != nil {
				return pump.Settings{}, fmt.Errorf("template: %s: event %s: %w", name, event, err)
			}
			settings.Timeout = defaultTimeout
			if f.Timeout != nil {
				settings.Timeout = time.Duration(*f.Timeout) * time.Second
			}
			found = append(found, settings)
		}
	}
	if len(found) != 1 {
		return pump.Settings{}, fmt.Errorf("template: there must be one event of type DynamoDB, there are %d", len(found))
	}
	return found[0], nil
}

func mappingSettings(properties json.RawMessage) (pump.Settings, error) {
	var p mappingProperties
	if err := json.Unmarshal(properties, &p); err != nil {
		return pump.Settings{}, err
	}
	switch {
	case p.StartingPosition != "TRIM_HORIZON":
		return pump.Settings{}, fmt.Errorf("the StartingPosition %q can lose records, it must be TRIM_HORIZON", p.StartingPosition)
	case p.TumblingWindowInSeconds != nil:
		return pump.Settings{}, errors.New("tumbling windows are not supported")
	case p.Enabled != nil && !*p.Enabled:
		return pump.Settings{}, errors.New("it is not enabled")
	}
	s := pump.Settings{
		BatchSize:                  valueOr(p.BatchSize, defaultBatchSize),
		Window:                     time.Duration(valueOr(p.MaximumBatchingWindowInSeconds, 0)) * time.Second,
		MaximumRetryAttempts:       valueOr(p.MaximumRetryAttempts, -1),
		MaximumRecordAge:           time.Duration(valueOr(p.MaximumRecordAgeInSeconds, -1)) * time.Second,
		BisectBatchOnFunctionError: p.BisectBatchOnFunctionError,
		ReportBatchItemFailures:    slices.Contains(p.FunctionResponseTypes, reportBatchItemFailed),
		ParallelizationFactor:      valueOr(p.ParallelizationFactor, 1),
	}
	for _, f := range p.FilterCriteria.Filters {
		s.Filters = append(s.Filters, f.Pattern)
	}
	return s, nil
}

func valueOr(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}
