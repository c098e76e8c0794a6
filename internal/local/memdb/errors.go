package memdb

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/aws/smithy-go"
)

// validation returns a ValidationException. The SDK has no type for it.
func validation(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

// unsupported returns the error for a feature of AWS that this store lacks.
func unsupported(what string) error { return validation("%s: not supported in memory", what) }

// decode copies the fields of *request to the fields of *into with the same names, which are those that the store
// supports. A field with a value that into lacks is a ValidationException. The value NONE counts as absent.
func decode(request, into any) error {
	from, to := reflect.ValueOf(request).Elem(), reflect.ValueOf(into).Elem()
	for i, index := range fieldIndexes(from.Type(), to.Type()) {
		given := from.Field(i)
		switch none := given.Kind() == reflect.String && given.String() == "NONE"; {
		case index == ignored || none || given.IsZero():
		case index == unknown:
			return unsupported(fmt.Sprintf("%s %v", from.Type().Field(i).Name, given))
		default:
			to.Field(index).Set(given)
		}
	}
	return nil
}

// fieldIndexCache has the results of fieldIndexes by both types, because looking up fields by name allocates.
var fieldIndexCache sync.Map

// Indexes of fields without a counterpart: not exported, or missing in the other type.
const ignored, unknown = -1, -2

// fieldIndexes returns for each field of one type its index in the other type.
func fieldIndexes(from, to reflect.Type) []int {
	types := [2]reflect.Type{from, to}
	if known, ok := fieldIndexCache.Load(types); ok {
		return known.([]int)
	}
	all := make([]int, from.NumField())
	for i := range all {
		all[i] = ignored
		if f, ok := to.FieldByName(from.Field(i).Name); ok && from.Field(i).IsExported() {
			all[i] = f.Index[0]
		} else if from.Field(i).IsExported() {
			all[i] = unknown
		}
	}
	fieldIndexCache.Store(types, all)
	return all
}
