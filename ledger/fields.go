package ledger

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"ledger.example/events"
)

// taggedField is a field that is stored: of a definition, or of an annotation. Its tag says how it is checked, compared
// and copied.
type taggedField struct {
	name     string // in requests
	rule     string // see package events
	optional bool
}

// violation returns the rule that the text of a field breaks, "" if none.
func (f taggedField) violation(text string) string {
	least := 1
	switch {
	case f.rule == "id" && (text != "" || !f.optional):
		return idViolation(text)
	case f.rule == "id":
		return ""
	case f.optional:
		least = 0
	}
	return textViolation(text, least, events.TextChars(f.rule))
}

// definedField is a field of a definition, with its value.
type definedField struct {
	taggedField
	value reflect.Value
}

var nextWord = regexp.MustCompile("([a-z])([A-Z])")

func tagged(f reflect.StructField) taggedField {
	rule, options, _ := strings.Cut(f.Tag.Get("stored"), ",")
	name := strings.ToLower(nextWord.ReplaceAllString(f.Name, "${1}_$2"))
	return taggedField{name, rule, strings.Contains(options, "optional")}
}

// fieldsOf returns the fields of a definition, or of what a pointer points to.
func fieldsOf(definition any) (all []definedField) {
	v := reflect.Indirect(reflect.ValueOf(definition))
	for i, f := range reflect.VisibleFields(v.Type()) {
		all = append(all, definedField{tagged(f), v.Field(i)})
	}
	return all
}

// annotationFields are the fields of an annotation, in their order. All but the metadata are texts.
var annotationFields = annotationFieldsOf(reflect.TypeFor[events.Annotation]())

func annotationFieldsOf(t reflect.Type) (all []taggedField) {
	for _, f := range reflect.VisibleFields(t) {
		of := tagged(f)
		if f.Type.Kind() != reflect.String && of.rule != "metadata" {
			panic(fmt.Sprintf("ledger: %s.%s is no text: its check and its fingerprint are missing", t, f.Name))
		}
		all = append(all, of)
	}
	return all
}
