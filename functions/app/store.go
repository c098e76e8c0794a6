package app

import (
	"cmp"
	"net/url"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// The variables that Lambda and sam local set for access to AWS. They have the SDK's names, but this package reads
// them. The SDK's config package also sets up single sign-on, role assumption and EC2 metadata, which takes a fifth of
// a cold start. No other variables of the SDK are read. To use a FIPS or dual-stack endpoint, set variableEndpoint.
const (
	variableRegion        = "AWS_REGION"
	variableDefaultRegion = "AWS_DEFAULT_REGION" // used if variableRegion is empty
	variableKeyID         = "AWS_ACCESS_KEY_ID"
	variableSecret        = "AWS_SECRET_ACCESS_KEY"
	variableSession       = "AWS_SESSION_TOKEN"
	variableEndpoint      = "AWS_ENDPOINT_URL_DYNAMODB" // empty for the endpoint of AWS
	variableBusEndpoint   = "AWS_ENDPOINT_URL_EVENTBRIDGE"
	variableAnyEndpoint   = "AWS_ENDPOINT_URL" // used if that of the service is empty
)

// isTable reports whether name is a valid table name (DynamoDB Developer Guide, "Naming rules").
func isTable(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`).MatchString(name)
}

func isRegion(name string) bool { return regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(name) }

// isEndpoint reports whether text is a URL of scheme, host and optionally a path.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// BusConfig returns the SDK's configuration for EventBridge. Open has checked the variables.
func BusConfig(getenv func(string) string) aws.Config {
	return awsConfig(getenv, variableBusEndpoint, func(string, string) {})
}

// awsConfig returns the SDK's configuration for a service, whose endpoint is in a variable. It calls fault for each
// variable that is missing or invalid.
func awsConfig(getenv func(string) string, name string, fault func(variable, what string)) aws.Config {
	region := cmp.Or(getenv(variableRegion), getenv(variableDefaultRegion))
	switch {
	case region == "":
		fault(variableRegion, "is missing: the region of the table")
	case !isRegion(region):
		fault(variableRegion, "is not the name of a region")
	}
	id, secret := getenv(variableKeyID), getenv(variableSecret)
	if id == "" {
		fault(variableKeyID, "is missing: the id of the access key")
	}
	if secret == "" {
		fault(variableSecret, "is missing: the key that signs requests")
	}
	c := aws.Config{
		Region:      region,
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, getenv(variableSession)),
	}
	if getenv(name) == "" {
		name = variableAnyEndpoint
	}
	if endpoint := getenv(name); endpoint != "" {
		if !isEndpoint(endpoint) {
			fault(name, "is not an http or https URL")
		}
		c.BaseEndpoint = &endpoint
	}
	return c
}
