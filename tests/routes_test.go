package tests

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

// An API that moves money asks everybody who they are, on every route, whatever the stack's parameters are. A browser's
// question beforehand, with OPTIONS, carries no signature: no route may take it, so that the gateway answers it.
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
				t.Errorf("tokens are judged by %v", tokens)
			}
		}
		routes := make(map[string]string) // to functions
		for id, r := range resources {
			switch r.Type {
			case "AWS::ApiGatewayV2::Route":
				if r.Properties["AuthorizationType"] != authorization || !reflect.DeepEqual(r.Properties["AuthorizerId"], authorizer) {
					t.Errorf("%s asks for %v by %v", id, r.Properties["AuthorizationType"], r.Properties["AuthorizerId"])
				}
				key, _ := r.Properties["RouteKey"].(string)
				routes[key] = target(resources, r)
			case "AWS::Serverless::HttpApi", "AWS::Serverless::Api", "AWS::ApiGateway::RestApi", "AWS::Lambda::Url":
				t.Errorf("%s is another way in", id)
			case "AWS::Serverless::Function":
				for _, event := range mapAt(r.Properties, "Events") {
					if kind := valueAt(event.(map[string]any), "Type"); kind != "DynamoDB" {
						t.Errorf("%s is called by %v", id, kind)
					}
				}
				if r.Properties["FunctionUrlConfig"] != nil {
					t.Errorf("%s has an address of its own", id)
				}
			case "AWS::Lambda::Permission":
				from := sub("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${LedgerApi}/*")
				if r.Properties["Principal"] != "apigateway.amazonaws.com" || !reflect.DeepEqual(r.Properties["SourceArn"], any(from)) {
					t.Errorf("%s lets %v call from %v", id, r.Properties["Principal"], r.Properties["SourceArn"])
				}
			}
		}
		want := map[string]string{
			"PUT /v1/{proxy+}": "CommandFunction", "POST /v1/{proxy+}": "CommandFunction",
			"DELETE /v1/{proxy+}": "CommandFunction",
			"GET /{proxy+}":       "QueryFunction", "HEAD /{proxy+}": "QueryFunction",
		}
		if given["CorsOrigins"] == nil {
			want["$default"] = "QueryFunction"
		}
		if !maps.Equal(routes, want) {
			t.Errorf("routes are %q, want %q", routes, want)
		}
		if cors := resources["LedgerApi"].Properties["CorsConfiguration"]; (cors != nil) != (given["CorsOrigins"] != nil) {
			t.Errorf("browsers may: %v", cors)
		}
		if closed := resources["LedgerApi"].Properties["DisableExecuteApiEndpoint"]; closed != (given["DomainName"] != nil) {
			t.Errorf("AWS's own address is closed: %v", closed)
		}
	})
}

// target is the function that a route's requests reach, "" unless they do by its alias and in format 2.0.
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
		if r.Type == "AWS::Lambda::Permission" && reflect.DeepEqual(r.Properties["FunctionName"], any(ref(function+".Alias"))) {
			return function
		}
	}
	return ""
}
