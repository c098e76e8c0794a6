package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/api"
)

// mcpCommand is `ledger mcp`.
func (env *environment) mcpCommand() *cobra.Command {
	var mayWrite bool
	cmd := &cobra.Command{
		Use:  "mcp",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.serveTools(cmd.Context(), mayWrite) },
	}
	env.callFlags(cmd)
	cmd.Flags().BoolVar(&mayWrite, "allow-writes", false, "offer the operations that write, too")
	return endless(cmd)
}

// instructions tell a model what no tool by itself says.
const instructions = "A double-entry ledger. Amounts are texts of whole numbers in the smallest unit of their asset: " +
	"with a scale of 2 (getAsset), 2500 is 25.00. Times are RFC 3339 in UTC. Lists are read on with next_cursor. " +
	"The id of a transaction makes it happen once: choose it, and send the same id again if the outcome is unknown."

// serveTools serves MCP on the standard streams, until standard input or ctx ends.
func (env *environment) serveTools(ctx context.Context, mayWrite bool) error {
	ledger, err := env.dial(0, 0)
	if err != nil {
		return err
	}
	input, _, err := env.openInput(ctx, "-")
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "ledger", Title: "Ledger", Version: version()},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	for _, t := range toolsOf(api.Operations(), mayWrite) {
		server.AddTool(&t.Tool, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return t.answer(ctx, ledger, call.Params.Arguments), nil
		})
	}
	return server.Run(ctx, &mcp.IOTransport{Reader: input, Writer: messages{env.out}})
}

// messages writes each message at once. Its end leaves standard output open.
type messages struct{ *bufio.Writer }

// Write implements io.Writer.
func (m messages) Write(message []byte) (int, error) {
	n, err := m.Writer.Write(message)
	return n, errors.Join(err, m.Flush())
}

// Close implements io.Closer.
func (m messages) Close() error { return m.Flush() }

// tool is an operation as a tool. Arguments that are no parameters are fields of the body.
type tool struct {
	mcp.Tool
	of   client.Operation
	path []string // the arguments in the path, in its order
}

// described is what tools say of operations, from openapi.json.
type described struct {
	Paths map[string]map[string]struct {
		Description string
		Parameters  []map[string]string // references
		RequestBody struct {
			Content map[string]struct{ Schema map[string]any }
		}
	}
	Components struct {
		Schemas    map[string]map[string]any
		Parameters map[string]struct {
			Name, In, Description string
			Required              bool
			Schema                map[string]any
		}
	}
}

// toolsOf derives the tools from the declared operations. A batch is none: a model posts one transaction at a time.
func toolsOf(operations []client.Operation, mayWrite bool) (tools []tool) {
	var all described
	if err := json.Unmarshal(api.OpenAPI(), &all); err != nil {
		panic(err) // it is part of this program
	}
	for _, o := range operations {
		isRead := o.Method == http.MethodGet
		if o.ID == "" || o.ID == client.PostBatch.ID || !isRead && !mayWrite {
			continue
		}
		t := tool{of: o}
		is := all.Paths[o.Path][strings.ToLower(o.Method)]
		schema := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
		maps.Copy(schema, all.inlined(is.RequestBody.Content["application/json"].Schema).(map[string]any))
		properties := schema["properties"].(map[string]any)
		maps.DeleteFunc(properties, func(_ string, property any) bool { // what the ledger sets
			return property.(map[string]any)["readOnly"] == true
		})
		required, _ := schema["required"].([]any)
		for _, reference := range is.Parameters {
			p := all.Components.Parameters[path.Base(reference["$ref"])]
			described := all.inlined(p.Schema).(map[string]any)
			described["description"] = p.Description
			name := p.Name
			switch key, isMap := strings.CutSuffix(name, ".KEY"); {
			case p.In == "header": // headers belong to the command
				continue
			case isMap:
				schema["patternProperties"] = map[string]any{"^" + key + `\.`: described}
				continue
			case p.In == "path":
				name = t.inPath(name)
			}
			if properties[name] = described; p.Required {
				required = append(required, name)
			}
		}
		schema["required"] = append([]any{}, required...)
		t.Tool = mcp.Tool{
			Name: o.ID, Title: o.Summary, Description: o.Summary + ". " + is.Description, InputSchema: schema,
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: isRead, IdempotentHint: true, DestructiveHint: new(!isRead), OpenWorldHint: new(false),
			},
		}
		tools = append(tools, t)
	}
	return tools
}

// inPath adds an argument for a parameter of the path, and returns its name. The path and the body may both have an id:
// a batch has another name for that of the path.
func (t *tool) inPath(name string) string {
	for _, f := range client.FieldsOf(t.of.In) {
		if f.Path == name {
			name = cmp.Or(f.Tag.Get("batch"), name)
		}
	}
	t.path = append(t.path, name)
	return name
}

// inlined returns a schema with what its references name in their place: not every program follows references.
func (d described) inlined(schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		whole := make(map[string]any)
		if name, isReference := schema["$ref"].(string); isReference {
			whole = d.inlined(d.Components.Schemas[path.Base(name)]).(map[string]any)
		}
		for key, value := range schema {
			if key != "$ref" {
				whole[key] = d.inlined(value)
			}
		}
		return whole
	case []any:
		whole := make([]any, len(schema))
		for i, value := range schema {
			whole[i] = d.inlined(value)
		}
		return whole
	}
	return schema
}

// answer calls the operation. A write is first tried as a dry run, and a refusal of that is the answer. The model reads
// errors as answers.
func (t tool) answer(ctx context.Context, c *client.Client, arguments []byte) *mcp.CallToolResult {
	r, onlyDry, err := t.request(arguments)
	var answer client.Reply[json.RawMessage]
	if err == nil && t.of.Dry {
		answer, err = t.of.Invoke(ctx, c, r, true)
	}
	if err == nil && !onlyDry {
		answer, err = t.of.Invoke(ctx, c, r, false)
	}
	result := &mcp.CallToolResult{IsError: err != nil}
	say := func(text []byte) { result.Content = append(result.Content, &mcp.TextContent{Text: string(text)}) }
	if err != nil {
		answer.Raw = problemOf(err, true)
	}
	say(bytes.TrimSpace(answer.Raw))
	if err == nil && !answer.New && !onlyDry && (t.of.Dry || t.of.Created != "") {
		say([]byte("The same was written before. Nothing was written now."))
	}
	return result
}

// request returns the request of a call. A transaction without an id gets one, so that all attempts have the same.
func (t tool) request(arguments []byte) (r client.RawRequest, onlyDry bool, err error) {
	given, body := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(arguments, &given); err != nil && len(arguments) > 0 {
		return r, false, fmt.Errorf("the arguments must be an object: %w", err)
	}
	for _, name := range t.path {
		id := textOf(given[name])
		if err := checkID(id); err != nil {
			return r, false, fmt.Errorf("%s: %w", name, err)
		}
		r.IDs = append(r.IDs, id)
	}
	r.Query = make(url.Values)
	for name, value := range given {
		switch text := textOf(value); {
		case slices.Contains(t.path, name):
		case name == "dry_run" && t.of.Dry:
			if onlyDry = text == "true"; !onlyDry && text != "false" {
				return r, false, errors.New("dry_run: must be true or false")
			}
		case t.of.HasBody():
			body[name] = value
		default: // the API refuses a parameter that it does not know
			r.Query.Set(name, text)
		}
	}
	if t.of.CreatesTransaction() {
		if r.ID = textOf(body["id"]); r.ID == "" {
			minted, _, err := events.NewMinter(nil, nil).Mint(1)
			if err != nil {
				return r, false, err
			}
			r.ID = string(minted[0])
			body["id"], _ = json.Marshal(r.ID) // of a text, it never fails
		}
	}
	if t.of.HasBody() {
		r.Body, err = json.Marshal(body)
	}
	return r, onlyDry, err
}

// textOf returns a JSON value as a parameter: a text without its quotes, anything else as it is.
func textOf(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}
