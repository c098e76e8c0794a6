package pump

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// A filter selects the records to deliver: those that match one of its patterns, or all if it has none.
type filter []pattern

// A pattern is a filter pattern of Lambda (Developer Guide, "Control which events Lambda sends to your function"). It
// supports only the forms in template.yaml. A record matches if it matches each part of the pattern: the event name is
// in the list, each key begins with one of its prefixes, and the new image has, or lacks, the attributes as strings.
type pattern struct {
	EventName []string `json:"eventName"`
	Change    struct {
		Keys map[string]struct {
			S []struct {
				Prefix string `json:"prefix"`
			}
		}
		NewImage map[string]struct {
			S []struct {
				Exists bool `json:"exists"`
			}
		}
	} `json:"dynamodb"`
}

// parseFilter parses patterns in JSON. Other forms are errors.
func parseFilter(texts []string) (filter, error) {
	f := make(filter, len(texts))
	for i, text := range texts {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&f[i]); err != nil {
			return nil, fmt.Errorf("filter pattern %s: %w", text, err)
		}
	}
	return f, nil
}

// matches reports whether to deliver a record.
func (f filter) matches(r types.Record) bool {
	return len(f) == 0 || slices.ContainsFunc(f, func(p pattern) bool { return p.matches(r) })
}

func (p pattern) matches(r types.Record) bool {
	if p.EventName != nil && !slices.Contains(p.EventName, string(r.EventName)) {
		return false
	}
	for name, wanted := range p.Change.Keys {
		key, isText := text(r.Dynamodb.Keys[name])
		begins := false
		for _, s := range wanted.S {
			begins = begins || isText && strings.HasPrefix(key, s.Prefix)
		}
		if !begins {
			return false
		}
	}
	for name, wanted := range p.Change.NewImage {
		for _, s := range wanted.S {
			if _, isText := text(r.Dynamodb.NewImage[name]); isText != s.Exists {
				return false
			}
		}
	}
	return true
}

// text returns the value of an attribute. ok is false if it is missing or not a string.
func text(v types.AttributeValue) (s string, ok bool) {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value, true
	}
	return "", false
}
