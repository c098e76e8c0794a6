package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"ledger.example/client"
	"ledger.example/tests/declared"
)

// A field of a new name is described by the comment above it, or named as one that has none.
func TestUndescribedFieldIsNamed(t *testing.T) {
	type sloop struct {
		Name      string `json:"name" is:"Text"`
		Reference string `json:"reference" is:"Text"`
	}
	d := &document{schemas: &object{}, additions: &object{}}
	d.answer(reflect.TypeFor[sloop](), asShown)
	if !slices.Equal(d.undescribed, []string{"sloop.Reference"}) {
		t.Errorf("undescribed are %v", d.undescribed)
	}
}

// The document describes a declared operation with all fields of its request and its answer.
func TestDeclaredOperation(t *testing.T) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	problems, err := os.ReadFile("../../functions/api/problems.json")
	if err != nil {
		t.Fatal(err)
	}
	o := declared.PutBoat.Untyped()
	d := newDocument(text, problems)
	var is struct {
		OperationID string
		Parameters  []map[string]string
		Responses   map[string]json.RawMessage
	}
	read(t, d.operation(o, []client.Operation{o}), &is)
	if is.OperationID != "putBoat" || is.Parameters[0]["$ref"] != "#/components/parameters/BoatID" ||
		is.Responses["201"] == nil || is.Responses["409"] == nil || is.Responses["415"] == nil {
		t.Errorf("described as %+v", is)
	}
	var request, answer struct {
		Required   []string
		Properties map[string]struct {
			Ref      string `json:"$ref"`
			Maximum  int
			ReadOnly bool
		}
	}
	read(t, d.schemas.must("PutBoat"), &request)
	read(t, d.schemas.must("Boat"), &answer)
	for _, f := range client.FieldsOf(o.Out) {
		is, ok := request.Properties[f.JSON]
		if !ok || is.ReadOnly != f.IsSame() {
			t.Errorf("the request has %s: %t, read-only: %t", f.JSON, ok, is.ReadOnly)
		}
		if _, ok := answer.Properties[f.JSON]; !ok {
			t.Errorf("the answer has no %s", f.JSON)
		}
	}
	if answer.Properties["masts"].Maximum != 5 || answer.Properties["port"].Ref != "#/components/schemas/ID" {
		t.Errorf("the fields are %+v", answer.Properties)
	}
	if !slices.Equal(request.Required, []string{"name"}) || !slices.Equal(answer.Required, []string{"id", "name", "built_at"}) {
		t.Errorf("required are %v, and in the answer %v", request.Required, answer.Required)
	}
}

func read(t *testing.T, from, into any) {
	t.Helper()
	if err := json.Unmarshal(textOf(from), into); err != nil {
		t.Fatal(err)
	}
}
