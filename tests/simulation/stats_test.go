package simulation

import (
	"reflect"
	"testing"
)

// add adds up what histories met.
func (s *Stats) add(other Stats) {
	sum, o := reflect.ValueOf(s).Elem(), reflect.ValueOf(other)
	for i := range sum.NumField() {
		switch sum.Field(i).Kind() {
		case reflect.Int, reflect.Int64:
			sum.Field(i).SetInt(sum.Field(i).Int() + o.Field(i).Int())
		}
	}
	for i, n := range other.Met {
		s.Met[i] += n
	}
	s.Trace ^= other.Trace
}

// tame fails a test whose histories never met what they are for.
func (s Stats) tame(t *testing.T) {
	t.Helper()
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if f := v.Type().Field(i); v.Field(i).Kind() == reflect.Int && v.Field(i).Int() == 0 {
			t.Errorf("too tame: no %s in all these histories", f.Name)
		}
	}
	for i, hazard := range hazards {
		if s.Met[i] == 0 {
			t.Errorf("too tame: %q never occurred in all these histories", hazard)
		}
	}
}
