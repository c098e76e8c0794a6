package dynamolocal

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

const (
	// Region for which requests to a local endpoint are signed. With -sharedDb, DynamoDB Local takes any.
	Region = "us-east-1"
	// accessKey may have letters and digits only (AWS, "DynamoDB local usage notes"). DynamoDB Local checks no
	// signature.
	accessKey = "local"

	// idleConnections is how many connections to the endpoint are kept open for reuse.
	idleConnections = 64
)

// Config is the configuration of a client for a local endpoint. It has no profile and nothing of the environment, so a
// client cannot reach an account by mistake, and an account's credentials are never sent.
func Config(endpoint string) aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, accessKey, ""),
	}
}

// DynamoDB returns a client for a local endpoint. The optFns may add middleware.
func DynamoDB(endpoint string, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.NewFromConfig(withConnections(Config(endpoint)), optFns...)
}

// Streams returns a client for the streams of a local endpoint, like DynamoDB.
func Streams(endpoint string) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(withConnections(Config(endpoint)))
}

// withConnections sets connections that suit a server on this machine.
func withConnections(c aws.Config) aws.Config {
	c.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Proxy = nil
		t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConnections, idleConnections
	})
	return c
}
