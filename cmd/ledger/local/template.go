package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v3"
)

// stack is what is read of a CloudFormation template.
type stack struct {
	Resources map[string]resource
}

type resource struct {
	Type       string
	Properties json.RawMessage
}

// tableProperties are those of an AWS::DynamoDB::Table that DynamoDB Local
// honours. What is only of use in an account (encryption, backups, alarms,
// tags) is left out.
type tableProperties struct {
	AttributeDefinitions []struct {
		AttributeName string
		AttributeType types.ScalarAttributeType
	}
	KeySchema              []keyElement
	GlobalSecondaryIndexes []struct {
		IndexName  string
		KeySchema  []keyElement
		Projection struct {
			ProjectionType   types.ProjectionType
			NonKeyAttributes []string
		}
	}
	LocalSecondaryIndexes json.RawMessage
	StreamSpecification   *struct {
		StreamViewType types.StreamViewType
	}
}

type keyElement struct {
	AttributeName string
	KeyType       types.KeyType
}

// TableFromTemplate reads the one AWS::DynamoDB::Table of a CloudFormation or
// SAM template: keys, global indexes and stream. The table is billed on demand
// and has no name yet.
func TableFromTemplate(template []byte) (*dynamodb.CreateTableInput, error) {
	s, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	name, r, err := s.only("AWS::DynamoDB::Table")
	if err != nil {
		return nil, err
	}
	var p tableProperties
	if err := json.Unmarshal(r.Properties, &p); err != nil {
		return nil, fmt.Errorf("template: %s: %w", name, err)
	}
	if p.LocalSecondaryIndexes != nil {
		return nil, fmt.Errorf("template: %s: local secondary indexes are not supported", name)
	}
	if len(p.KeySchema) == 0 {
		return nil, fmt.Errorf("template: %s has no KeySchema", name)
	}

	in := &dynamodb.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(p.KeySchema),
	}
	for _, a := range p.AttributeDefinitions {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &a.AttributeName, AttributeType: a.AttributeType})
	}
	for _, g := range p.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &g.IndexName,
			KeySchema: keySchema(g.KeySchema),
			Projection: &types.Projection{
				ProjectionType:   g.Projection.ProjectionType,
				NonKeyAttributes: g.Projection.NonKeyAttributes,
			},
		})
	}
	if st := p.StreamSpecification; st != nil {
		enabled := true
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: &enabled, StreamViewType: st.StreamViewType}
	}
	return in, nil
}

func keySchema(elements []keyElement) []types.KeySchemaElement {
	var ks []types.KeySchemaElement
	for _, e := range elements {
		ks = append(ks, types.KeySchemaElement{AttributeName: &e.AttributeName, KeyType: e.KeyType})
	}
	return ks
}

// parseTemplate reads a template, with the short forms of CloudFormation's
// functions as their long ones (!Ref X as {"Ref": "X"}) and each Ref to a
// parameter as that parameter's default.
func parseTemplate(template []byte) (*stack, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(template, &doc); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("template: it is empty")
	}
	v, err := plain(doc.Content[0])
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	text, err := json.Marshal(resolve(v, defaults(v)))
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	var s stack
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return &s, nil
}

// only returns the one resource of a type.
func (s *stack) only(typ string) (string, resource, error) {
	var names []string
	for name, r := range s.Resources {
		if r.Type == typ {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		slices.Sort(names)
		return "", resource{}, fmt.Errorf("template: there must be one %s, there are %d %v", typ, len(names), names)
	}
	return names[0], s.Resources[names[0]], nil
}

// plain turns a YAML node into maps, slices and scalars.
func plain(n *yaml.Node) (any, error) {
	if n.Kind == yaml.AliasNode {
		return plain(n.Alias)
	}
	if function, ok := shortForm(n.Tag); ok {
		bare := *n
		bare.Tag = ""
		arg, err := plain(&bare)
		if err != nil {
			return nil, err
		}
		return map[string]any{function: arg}, nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, twice := m[key]; twice {
				return nil, fmt.Errorf("line %d: %q is there twice", n.Content[i].Line, key)
			}
			v, err := plain(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[key] = v
		}
		return m, nil
	case yaml.SequenceNode:
		s := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := plain(c)
			if err != nil {
				return nil, err
			}
			s[i] = v
		}
		return s, nil
	default:
		// A date (AWSTemplateFormatVersion: 2010-09-09) stays the text that it is.
		if n.ShortTag() == "!!timestamp" {
			return n.Value, nil
		}
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, err
		}
		return v, nil
	}
}

// shortForm tells the function that a tag such as !Sub is short for.
func shortForm(tag string) (function string, ok bool) {
	name, ok := strings.CutPrefix(tag, "!")
	switch {
	case !ok || name == "" || strings.HasPrefix(name, "!"):
		return "", false
	case name == "Ref" || name == "Condition":
		return name, true
	default:
		return "Fn::" + name, true
	}
}

// defaults are the parameters of a template that have one.
func defaults(template any) map[string]any {
	values := make(map[string]any)
	root, _ := template.(map[string]any)
	parameters, _ := root["Parameters"].(map[string]any)
	for name, p := range parameters {
		p, _ := p.(map[string]any)
		if d, ok := p["Default"]; ok {
			values[name] = d
		}
	}
	return values
}

// resolve replaces each {"Ref": parameter} that has a value.
func resolve(v any, values map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["Ref"].(string); ok && len(v) == 1 {
			if value, ok := values[name]; ok {
				return value
			}
		}
		for k := range v {
			v[k] = resolve(v[k], values)
		}
	case []any:
		for i := range v {
			v[i] = resolve(v[i], values)
		}
	}
	return v
}
