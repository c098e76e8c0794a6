package memdb

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/aws/smithy-go"
)

// validation is the answer to a request that breaks a rule. The SDK has no type for it.
func validation(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

// unsupported is the answer to what AWS takes and this store doesn't.
func unsupported(what string) error { return validation("%s: not supported in memory", what) }

// decode copies a request of the SDK's, given by a pointer, to the fields of the same names that into has: those that
// the store supports. A ValidationException names a field that was given and isn't one of them. NONE is as good as
// nothing.
func decode(request, into any) error {
	from, to := reflect.ValueOf(request).Elem(), reflect.ValueOf(into).Elem()
	for i, place := range places(from.Type(), to.Type()) {
		given := from.Field(i)
		switch none := given.Kind() == reflect.String && given.String() == "NONE"; {
		case place == ignored || none || given.IsZero():
		case place == unknown:
			return unsupported(fmt.Sprintf("%s %v", from.Type().Field(i).Name, given))
		default:
			to.Field(place).Set(given)
		}
	}
	return nil
}

// placesOf keeps what places returned, by the two types: looking fields up by name allocates.
var placesOf sync.Map

// Places of a field that has none: it isn't exported, or the other type doesn't have it.
const ignored, unknown = -1, -2

// places returns where the fields of one type are in another.
func places(from, to reflect.Type) []int {
	types := [2]reflect.Type{from, to}
	if known, ok := placesOf.Load(types); ok {
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
	placesOf.Store(types, all)
	return all
}
