package app

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// readScheduled reads what a function with a schedule is invoked with: the event of the schedule, nothing, or an object
// with fields of in, which may be nil. Anything else is an error: records that the function was given by mistake must
// not be taken for done, nor a misspelled field for one that is absent.
func readScheduled(payload json.RawMessage, in any) error {
	var event struct {
		Source  string          `json:"source"`
		Records json.RawMessage `json:"Records"`
	}
	if in == nil {
		in = new(struct{})
	}
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, &event); err == nil && event.Source == "aws.events" && event.Records == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return fmt.Errorf("the invocation is neither the event of a schedule nor an input of this function: %w", err)
	}
	return nil
}
