// Package template holds template.yaml, the one definition of the stack and of
// its table, so that a binary installed anywhere makes the same table locally.
package template

import _ "embed"

// YAML is the SAM template. Don't change it.
//
//go:embed template.yaml
var YAML []byte
