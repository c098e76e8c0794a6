// Package docs is the folder of the documents. go generate ./docs computes the tables between the comments
// "generated: name" and "end", from the code and the templates, and functions/api/openapi.json.
package docs

//go:generate go run ./generate
