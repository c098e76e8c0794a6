// Package expect ends a program if a value is not the expected one.
package expect

import (
	"fmt"
	"log"
	"reflect"
)

const caller = 2 // the line to show is that of the call

// None ends the program on an error.
func None(err error) {
	if err != nil {
		_ = log.Output(caller, err.Error())
		panic("failed")
	}
}

// Equal ends the program unless got and want are equal; a nil pointer is nil.
func Equal(got, want any) {
	v := reflect.ValueOf(got)
	if got == want || want == nil && (!v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()) {
		return
	}
	_ = log.Output(caller, fmt.Sprintf("got %v, want %v", got, want))
	panic("failed")
}
