package pump

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// A filter decides which records are delivered: those that match one of its patterns, or all if it has none.
type filter []pattern

// A pattern is one of Lambda's (Developer Guide, "Control which events Lambda sends to your function") in the shapes of
// template.yaml. A record matches it if each part does that is given: the name of the event is one of the list, each
// key begins with one of its prefixes, and the new image has the attributes as strings, or has not.
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

// parseFilter reads the patterns, which are JSON text. It refuses other shapes.
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

// matches reports whether a record is to be delivered.
func (f filter) matches(r lambdaevents.DynamoDBEventRecord) bool {
	return len(f) == 0 || slices.ContainsFunc(f, func(p pattern) bool { return p.matches(r) })
}

func (p pattern) matches(r lambdaevents.DynamoDBEventRecord) bool {
	if p.EventName != nil && !slices.Contains(p.EventName, r.EventName) {
		return false
	}
	for name, wanted := range p.Change.Keys {
		key, isText := text(r.Change.Keys, name)
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
			if _, isText := text(r.Change.NewImage, name); isText != s.Exists {
				return false
			}
		}
	}
	return true
}

// text returns an attribute's value, and whether it is there and a string.
func text(attributes map[string]lambdaevents.DynamoDBAttributeValue, name string) (string, bool) {
	v, ok := attributes[name]
	if !ok || v.DataType() != lambdaevents.DataTypeString {
		return "", false
	}
	return v.String(), true
}
