// Package expect panics if a value is not the expected one.
package expect

import (
	"fmt"
	"log"
	"reflect"
)

const caller = 2 // log the caller's line

// None panics if there is an error.
func None(err error) {
	if err != nil {
		_ = log.Output(caller, err.Error())
		panic("failed")
	}
}

// Equal panics unless got and want are equal. A nil pointer equals nil.
func Equal(got, want any) {
	v := reflect.ValueOf(got)
	if got == want || want == nil && (!v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()) {
		return
	}
	_ = log.Output(caller, fmt.Sprintf("got %v, want %v", got, want))
	panic("failed")
}
