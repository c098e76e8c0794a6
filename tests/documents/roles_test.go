package documents

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each function has a separate role that only the function's service can assume. Its policies list single actions
// without wildcards. Package acceptance compares its actions on the table with the requests of the function.
func TestRolesAreNarrow(t *testing.T) {
	for _, given := range []map[string]any{
		{}, {"KmsKeyArn": key, "Deployment": "Canary10Percent5Minutes"}, {"EventBus": "events", "KmsKeyArn": key},
	} {
		used, policed := make(map[string]bool), make(map[string]bool)
		resources := readTemplate(t).with(t, given).resources()
		for id, r := range resources {
			if r.Type == "AWS::Serverless::Function" {
				role := fmt.Sprint(r.Properties["Role"])
				if used[role] || r.Properties["Role"] == nil || r.Properties["Policies"] != nil {
					t.Errorf("%s has the role %s, which is shared or missing, or policies %v", id, role,
						r.Properties["Policies"])
				}
				used[role] = true
			}
			if r.Type == "AWS::IAM::Policy" {
				for _, role := range listOf(r.Properties["Roles"]) {
					policed[asMap(role)["Ref"].(string)] = true
				}
				checkStatements(t, id, given["KmsKeyArn"], listOf(valueAt(r.Properties, "PolicyDocument", "Statement")))
			}
			if r.Type != "AWS::IAM::Role" {
				continue
			}
			service, managed := "lambda.amazonaws.com", []any{nil}
			if id == "DeploymentRole" { // AWS's narrowest managed policy for CodeDeploy
				service = "codedeploy.amazonaws.com"
				managed = []any{sub("arn:${AWS::Partition}:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited")}
			}
			trust := listOf(valueAt(r.Properties, "AssumeRolePolicyDocument", "Statement"))
			if len(trust) != 1 || !reflect.DeepEqual(trust[0].(map[string]any)["Principal"],
				any(map[string]any{"Service": service})) ||
				!reflect.DeepEqual(listOf(r.Properties["ManagedPolicyArns"]), managed) {
				t.Errorf("%s can be assumed by %v, and has %v", id, trust, r.Properties["ManagedPolicyArns"])
			}
			if r.Properties["Policies"] != nil { // the table's policy names the roles, so their policies are separate
				t.Errorf("%s has policies of its own", id)
			}
		}
		for id, r := range resources {
			if r.Type == "AWS::IAM::Role" && !policed[id] && r.Properties["ManagedPolicyArns"] == nil {
				t.Errorf("%s has no policy", id)
			}
		}
	}
}

// anywhere are the actions that do not support resources.
var anywhere = []string{"dynamodb:ListStreams", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}

// checkStatements checks the statements of a policy. key is the only key that they may name.
func checkStatements(t *testing.T, id string, key any, statements []any) {
	t.Helper()
	for _, s := range statements {
		s := asMap(s)
		if s["Effect"] != "Allow" || s["NotAction"] != nil || s["NotResource"] != nil {
			t.Errorf("%s: %v", id, s)
		}
		for _, on := range listOf(s["Resource"]) {
			for _, action := range listOf(s["Action"]) {
				action := action.(string)
				wide := strings.Contains(fmt.Sprint(on), "*") && on != "*" &&
					(action != "s3:PutObject" || !reflect.DeepEqual(on, any(sub("${FailedRecords.Arn}/*"))))
				anyService := strings.HasPrefix(action, "kms:") && (on != key ||
					valueAt(s, "Condition", "StringEquals", "kms:ViaService") == nil)
				if strings.Contains(action, "*") || (on == "*") != slices.Contains(anywhere, action) || wide || anyService {
					t.Errorf("%s allows %s on %v", id, action, on)
				}
			}
		}
	}
}

// Every route requires authorization, with any parameters of the stack. A browser's preflight request with OPTIONS has
// no signature. No route may match it, so that the gateway answers it.
func TestNoRouteIsOpen(t *testing.T) {
	combinations(t, func(t *testing.T, given map[string]any, resources map[string]stackResource) {
		authorization, authorizer := "AWS_IAM", any(nil)
		if given["JwtIssuer"] != nil {
			authorization, authorizer = "JWT", any(ref("TokenAuthorizer"))
			want := map[string]any{
				"Issuer":   given["JwtIssuer"],
				"Audience": map[string]any{"Fn::Split": []any{",", given["JwtAudience"]}},
			}
			tokens := resources["TokenAuthorizer"].Properties
			if tokens["AuthorizerType"] != "JWT" || !reflect.DeepEqual(tokens["JwtConfiguration"], want) {
				t.Errorf("the authorizer of tokens is %v", tokens)
			}
		}
		routes := make(map[string]string) // to functions
		for id, r := range resources {
			switch r.Type {
			case "AWS::ApiGatewayV2::Route":
				if r.Properties["AuthorizationType"] != authorization ||
					!reflect.DeepEqual(r.Properties["AuthorizerId"], authorizer) {
					t.Errorf("%s has authorization %v by %v", id, r.Properties["AuthorizationType"],
						r.Properties["AuthorizerId"])
				}
				key, _ := r.Properties["RouteKey"].(string)
				if got, want := r.Properties["AuthorizationScopes"], scopesOf(key, given); !reflect.DeepEqual(got,
					want) {
					t.Errorf("%s requires the scopes %v, want %v", id, got, want)
				}
				routes[key] = target(resources, r)
			case "AWS::Serverless::HttpApi", "AWS::Serverless::Api", "AWS::ApiGateway::RestApi", "AWS::Lambda::Url":
				t.Errorf("%s is a second entry point", id)
			case "AWS::Serverless::Function":
				if r.Properties["FunctionUrlConfig"] != nil || r.Properties["Events"] != nil {
					t.Errorf("%s has a URL or the triggers %v", id, r.Properties["Events"])
				}
			case "AWS::Lambda::Permission":
				from := sub("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${LedgerApi}/*")
				caller := "apigateway.amazonaws.com"
				if schedule, ok := strings.CutSuffix(id, "MinutePermission"); ok {
					from, caller = getAtt(schedule+"Minute.Arn"), "events.amazonaws.com"
				}
				if r.Properties["Principal"] != caller || !reflect.DeepEqual(r.Properties["SourceArn"], any(from)) {
					t.Errorf("%s lets %v call from %v", id, r.Properties["Principal"], r.Properties["SourceArn"])
				}
			}
		}
		want := map[string]string{
			"PUT /v1/{proxy+}": "CommandFunction", "POST /v1/{proxy+}": "CommandFunction",
			"PATCH /v1/{proxy+}":  "CommandFunction",
			"DELETE /v1/{proxy+}": "CommandFunction",
			"GET /{proxy+}":       "QueryFunction", "HEAD /{proxy+}": "QueryFunction",
			"POST /v1/batches":                     "CommandFunction", // the dearest requests
			"GET /v1/accounts/{account}/balances":  "QueryFunction",
			"HEAD /v1/accounts/{account}/balances": "QueryFunction",
		}
		if given["CorsOrigins"] == nil {
			want["$default"] = "QueryFunction"
		}
		if !maps.Equal(routes, want) {
			t.Errorf("routes are %q, want %q", routes, want)
		}
		api := resources["LedgerApi"].Properties
		if cors := api["CorsConfiguration"]; (cors != nil) != (given["CorsOrigins"] != nil) {
			t.Errorf("CORS: %v", cors)
		}
		if closed := api["DisableExecuteApiEndpoint"]; closed != (given["DomainName"] != nil) {
			t.Errorf("the default endpoint is disabled: %v", closed)
		}
	})
}

// scopesOf returns the scopes of which a route requires one, nil if it requires none. The write scope includes reads.
func scopesOf(route string, given map[string]any) any {
	read, write := given["JwtReadScope"], given["JwtWriteScope"]
	method, _, _ := strings.Cut(route, " ")
	switch {
	case write == nil:
		return nil
	case method == "PUT" || method == "POST" || method == "PATCH" || method == "DELETE":
		return []any{write}
	default:
		return []any{read, write}
	}
}

// target returns the function of a route, "" unless it is invoked through its alias with payload format 2.0.
func target(resources map[string]stackResource, route stackResource) string {
	const arn = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${"
	to, _ := valueAt(route.Properties, "Target", "Fn::Sub").(string)
	to = strings.TrimSuffix(strings.TrimPrefix(to, "integrations/${"), "}")
	integration := resources[to].Properties
	uri, _ := valueAt(integration, "IntegrationUri", "Fn::Sub").(string)
	function, ok := strings.CutSuffix(strings.TrimPrefix(uri, arn), ".Arn}:live/invocations")
	if !ok || integration["PayloadFormatVersion"] != "2.0" || integration["IntegrationType"] != "AWS_PROXY" {
		return ""
	}
	for _, r := range resources {
		if r.Type == "AWS::Lambda::Permission" && reflect.DeepEqual(r.Properties["FunctionName"],
			any(ref(function+".Alias"))) {
			return function
		}
	}
	return ""
}
